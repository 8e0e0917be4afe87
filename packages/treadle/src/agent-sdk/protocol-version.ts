/** The version of the protocol that clients ask for, as they know it. */
export const PROTOCOL_VERSION = '2.1.0';
