import type { NextConfig } from 'next';

const config: NextConfig = {
  // These run in Node as they are installed: they read files of their own.
  serverExternalPackages: ['treadle', '@treadle/server', '@treadle/tools', '@treadle/store'],
};

export default config;
