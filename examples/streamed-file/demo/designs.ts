import type { Copy } from './copy.ts';
import { escaped as e, pageOf } from './html.ts';

/** A look of the demo: a page for any words. */
export type Design = (copy: Copy) => string;

/** Warm paper, a serif and an arch. */
const editorial: Design = ({ name, headline, lead, action, items, quote, by }) =>
  pageOf(name, {
    accent: '#b4532a',
    paper: '#f8f3ea',
    ink: '#2b211a',
    soft: '#eadfcd',
    css: `
body { font-family: Iowan Old Style, Palatino, Georgia, serif; font-size: 1.0625rem; }
header, .hero, .items, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.5rem; }
header { display: flex; justify-content: space-between; align-items: baseline; padding-block: 1.75rem; }
header b { font-size: 1.25rem; letter-spacing: -.01em; }
nav { display: flex; gap: 1.75rem; font-style: italic; }
.hero { display: grid; grid-template-columns: 1.2fr 1fr; gap: 4rem; align-items: center; padding-block: 3rem 5rem; }
h1 { font-size: clamp(2.75rem, 6vw, 5rem); line-height: 1.02; letter-spacing: -.03em; font-weight: 500; text-wrap: balance; }
.lead { margin: 1.5rem 0 2.25rem; font-size: 1.2rem; max-width: 30rem; opacity: .82; }
.button { display: inline-block; background: var(--accent); color: #fff; padding: .9rem 1.6rem; border-radius: 99px; }
.arch { aspect-ratio: 4 / 5; border-radius: 50vw 50vw 1rem 1rem; position: relative; overflow: hidden;
  background: radial-gradient(circle at 62% 34%, #f6d9a8 0 18%, transparent 18.4%), linear-gradient(transparent 62%, color-mix(in srgb, var(--accent), #000 22%) 62%), linear-gradient(160deg, color-mix(in srgb, var(--accent), #fff 55%), var(--accent)); }
.arch::after { content: ""; position: absolute; left: -10%; bottom: 18%; width: 75%; height: 34%; border-radius: 50%; background: color-mix(in srgb, var(--accent), #000 8%); }
.items { border-top: 1px solid var(--soft); padding-block: 1rem 4rem; }
.item { display: grid; grid-template-columns: 1fr 1.4fr auto; gap: 2rem; padding: 1.75rem 0; border-bottom: 1px solid var(--soft); align-items: baseline; }
.item h3 { font-size: 1.5rem; font-weight: 500; }
.item span { color: var(--accent); font-style: italic; }
blockquote { background: var(--soft); text-align: center; padding: 5rem 1.5rem; font-size: clamp(1.5rem, 3vw, 2.25rem); line-height: 1.3; }
cite { display: block; margin-top: 1rem; font-size: 1rem; opacity: .7; }
footer { padding-block: 2.5rem; opacity: .65; }
@media (max-width: 720px) { .hero { grid-template-columns: 1fr; gap: 2.5rem; padding-top: 1rem; } .item { grid-template-columns: 1fr auto; gap: .4rem 1rem; } .item p { grid-row: 2; grid-column: 1 / -1; } nav { display: none; } }`,
    body: `
<header><b>${e(name)}</b><nav><a href="#items">Selection</a><a href="#words">Words</a><a href="#visit">Visit</a></nav></header>
<main>
<section class="hero">
  <div>
    <h1>${e(headline)}</h1>
    <p class="lead">${e(lead)}</p>
    <a class="button" href="#visit">${e(action)}</a>
  </div>
  <div class="arch" role="img" aria-label="An illustration of a sun over hills"></div>
</section>
<section class="items" id="items">
${items.map(([title, text, aside]) => `  <article class="item"><h3>${e(title)}</h3><p>${e(text)}</p><span>${e(aside)}</span></article>`).join('\n')}
</section>
<blockquote id="words">“${e(quote)}”<cite>${e(by)}</cite></blockquote>
</main>
<footer id="visit">${e(name)} · Open every day but Monday, 7 to 3</footer>`,
  });

/** A dark page with a glow, and cards of glass. */
const midnight: Design = ({ name, headline, lead, action, items, quote, by }) =>
  pageOf(name, {
    accent: '#8b7bff',
    paper: '#0b0c14',
    ink: '#f3f3fa',
    soft: '#1b1d2c',
    css: `
body { font-family: Inter, system-ui, sans-serif; }
body::before { content: ""; position: fixed; inset: -20% 10% auto; height: 70vh; z-index: -1; opacity: .35; filter: blur(90px);
  background: radial-gradient(closest-side, var(--accent), transparent), radial-gradient(closest-side at 75% 60%, #38bdf8, transparent); }
.wrap { max-width: 68rem; margin: 0 auto; padding: 0 1.5rem; }
header.wrap { display: flex; align-items: center; justify-content: space-between; padding-block: 1.5rem; }
header b { display: flex; gap: .6rem; align-items: center; }
header b::before { content: ""; width: 1.1rem; height: 1.1rem; border-radius: .35rem; background: linear-gradient(135deg, var(--accent), #38bdf8); }
.ghost { border: 1px solid color-mix(in srgb, var(--ink), transparent 80%); padding: .45rem 1rem; border-radius: .6rem; font-size: .9rem; }
.hero { text-align: center; padding-block: 6rem 4rem; }
.pill { display: inline-block; border: 1px solid color-mix(in srgb, var(--ink), transparent 84%); border-radius: 99px; padding: .3rem .9rem; font-size: .85rem; opacity: .8; }
h1 { font-size: clamp(2.6rem, 7vw, 4.75rem); line-height: 1.04; letter-spacing: -.045em; margin: 1.5rem auto; max-width: 15ch; text-wrap: balance;
  background: linear-gradient(180deg, var(--ink) 40%, color-mix(in srgb, var(--ink), var(--accent) 65%)); -webkit-background-clip: text; background-clip: text; color: transparent; }
.lead { max-width: 36rem; margin: 0 auto 2.25rem; font-size: 1.15rem; opacity: .72; }
.button { display: inline-block; background: var(--ink); color: var(--paper); font-weight: 600; padding: .85rem 1.5rem; border-radius: .75rem; }
.panel { margin: 4rem auto 0; max-width: 54rem; border-radius: 1.25rem; border: 1px solid color-mix(in srgb, var(--ink), transparent 88%); background: color-mix(in srgb, var(--soft), transparent 25%); padding: 1.5rem; box-shadow: 0 40px 90px #0008; }
.bars { display: flex; align-items: end; gap: 2.5%; height: 11rem; }
.bars i { flex: 1; border-radius: .4rem .4rem 0 0; background: linear-gradient(var(--accent), color-mix(in srgb, var(--accent), transparent 75%)); }
.cards { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1.25rem; padding-block: 2rem 5rem; }
.card { border-radius: 1.1rem; padding: 1.75rem; background: color-mix(in srgb, var(--soft), transparent 20%); border: 1px solid color-mix(in srgb, var(--ink), transparent 90%); }
.card span { color: var(--accent); font-variant-numeric: tabular-nums; font-weight: 600; }
.card h3 { margin: .75rem 0 .4rem; font-size: 1.15rem; }
.card p, blockquote cite { opacity: .7; }
blockquote { text-align: center; font-size: 1.5rem; max-width: 40rem; margin: 0 auto; padding: 1rem 1.5rem 6rem; }
cite { display: block; font-size: .95rem; font-style: normal; margin-top: .75rem; }
footer { border-top: 1px solid var(--soft); padding: 2rem 0; opacity: .6; font-size: .9rem; }
@media (max-width: 720px) { .cards { grid-template-columns: 1fr; } .hero { padding-block: 3.5rem 2.5rem; } }`,
    body: `
<header class="wrap"><b>${e(name)}</b><a class="ghost" href="#more">Sign in</a></header>
<main class="wrap">
<section class="hero">
  <span class="pill">New this season →</span>
  <h1>${e(headline)}</h1>
  <p class="lead">${e(lead)}</p>
  <a class="button" href="#more">${e(action)}</a>
  <div class="panel"><div class="bars" role="img" aria-label="A chart that rises">${[34, 48, 41, 60, 55, 72, 66, 84, 78, 96].map((height) => `<i style="height:${height}%"></i>`).join('')}</div></div>
</section>
<section class="cards" id="more">
${items.map(([title, text, aside]) => `  <article class="card"><span>${e(aside)}</span><h3>${e(title)}</h3><p>${e(text)}</p></article>`).join('\n')}
</section>
<blockquote>“${e(quote)}”<cite>${e(by)}</cite></blockquote>
</main>
<footer><div class="wrap">© ${e(name)}</div></footer>`,
  });

/** Large type, hard edges and one loud color. */
const poster: Design = ({ name, headline, lead, action, items, quote, by }) =>
  pageOf(name, {
    accent: '#ffd43b',
    paper: '#fffdf5',
    ink: '#111111',
    soft: '#ffffff',
    css: `
body { font-family: "Arial Black", "Helvetica Neue", Arial, sans-serif; }
p, nav, .tag, cite, footer { font-family: ui-monospace, Menlo, Consolas, monospace; }
header { display: flex; justify-content: space-between; align-items: center; padding: 1rem 1.5rem; border-bottom: 3px solid var(--ink); font-weight: 900; }
.tag { background: var(--ink); color: var(--paper); padding: .25rem .7rem; font-size: .85rem; }
.hero { background: var(--accent); border-bottom: 3px solid var(--ink); padding: 4.5rem 1.5rem; position: relative; overflow: hidden; }
.hero::after { content: ""; position: absolute; right: 6%; top: 50%; width: 19rem; aspect-ratio: 1; translate: 0 -50%; border: 3px solid var(--ink); border-radius: 50%; background: repeating-conic-gradient(var(--ink) 0 7.5deg, transparent 0 15deg); opacity: .92; }
h1 { font-size: clamp(3rem, 8.4vw, 7rem); line-height: .92; letter-spacing: -.05em; text-transform: uppercase; max-width: 9ch; position: relative; z-index: 1; font-weight: 900; }
.lead { max-width: 34rem; margin: 2rem 0; font-size: 1.05rem; position: relative; z-index: 1; }
.button { display: inline-block; background: var(--ink); color: var(--accent); padding: 1rem 1.5rem; font-weight: 900; box-shadow: 6px 6px 0 var(--soft); position: relative; z-index: 1; }
.grid { display: grid; grid-template-columns: repeat(3, 1fr); }
.cell { padding: 2rem 1.5rem 2.5rem; border-right: 3px solid var(--ink); border-bottom: 3px solid var(--ink); background: var(--soft); }
.cell:last-child { border-right: 0; }
.cell b { font-size: 2.75rem; line-height: 1; }
.cell h3 { margin: 1.25rem 0 .5rem; font-size: 1.3rem; line-height: 1.1; text-transform: uppercase; }
blockquote { background: var(--ink); color: var(--paper); padding: 4.5rem 1.5rem; font-size: clamp(1.6rem, 4vw, 3rem); line-height: 1.1; }
cite { display: block; margin-top: 1.25rem; font-size: .95rem; color: var(--accent); font-style: normal; }
footer { padding: 1.5rem; display: flex; justify-content: space-between; }
@media (max-width: 820px) { .hero::after { opacity: .14; right: -5rem; } .grid { grid-template-columns: 1fr; } .cell { border-right: 0; } }`,
    body: `
<header><span>${e(name)}</span><span class="tag">Open now</span></header>
<main>
<section class="hero">
  <h1>${e(headline)}</h1>
  <p class="lead">${e(lead)}</p>
  <a class="button" href="#grid">${e(action)} →</a>
</section>
<section class="grid" id="grid">
${items.map(([title, text, aside]) => `  <article class="cell"><b>${e(aside)}</b><h3>${e(title)}</h3><p>${e(text)}</p></article>`).join('\n')}
</section>
<blockquote>${e(quote)}<cite>${e(by)}</cite></blockquote>
</main>
<footer><span>${e(name)}</span><span>↑ up</span></footer>`,
  });

/** A calm bento of rounded tiles. */
const bento: Design = ({ name, headline, lead, action, items, quote, by }) =>
  pageOf(name, {
    accent: '#0f766e',
    paper: '#eef3f1',
    ink: '#12211f',
    soft: '#ffffff',
    css: `
body { font-family: "Avenir Next", Avenir, "Segoe UI", system-ui, sans-serif; }
main, header { max-width: 72rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; justify-content: space-between; align-items: center; padding-block: 1.25rem; font-weight: 600; }
header a { background: var(--ink); color: var(--paper); padding: .55rem 1.1rem; border-radius: 99px; font-size: .9rem; }
main { display: grid; grid-template-columns: repeat(6, 1fr); gap: 1rem; padding-bottom: 1.25rem; }
.tile { border-radius: 1.75rem; padding: 2rem; background: var(--soft); min-height: 13rem; display: flex; flex-direction: column; justify-content: space-between; gap: 1rem; }
.intro { grid-column: span 4; min-height: 25rem; background: var(--accent); color: #fff; }
h1 { font-size: clamp(2.4rem, 5.4vw, 4.25rem); line-height: 1.02; letter-spacing: -.035em; font-weight: 600; text-wrap: balance; }
.intro p { font-size: 1.1rem; max-width: 32rem; opacity: .88; }
.intro a { align-self: start; background: #fff; color: var(--accent); font-weight: 600; padding: .8rem 1.4rem; border-radius: 99px; }
.shape { grid-column: span 2; padding: 0; overflow: hidden;
  background: radial-gradient(circle at 50% 108%, var(--accent) 0 42%, transparent 42.4%), radial-gradient(circle at 50% 108%, color-mix(in srgb, var(--accent), transparent 55%) 0 62%, transparent 62.4%), radial-gradient(circle at 50% 108%, color-mix(in srgb, var(--accent), transparent 80%) 0 84%, transparent 84.4%), #dfeae6; }
.third { grid-column: span 2; }
.tile h3 { font-size: 1.3rem; letter-spacing: -.015em; }
.tile .aside { align-self: start; background: color-mix(in srgb, var(--accent), transparent 86%); color: var(--accent); border-radius: 99px; padding: .2rem .8rem; font-size: .85rem; font-weight: 600; }
.quote { grid-column: 1 / -1; background: var(--ink); color: var(--paper); font-size: clamp(1.4rem, 2.6vw, 2rem); line-height: 1.25; min-height: 0; }
cite { font-size: .95rem; font-style: normal; opacity: .7; }
.note { grid-column: 1 / -1; width: 100%; background: var(--soft); border-radius: 1.75rem; padding: 2rem; }
@media (max-width: 760px) { main { grid-template-columns: 1fr; } main > * { grid-column: 1 / -1 !important; } .shape { min-height: 12rem; } .intro { min-height: 22rem; } }`,
    body: `
<header><span>${e(name)}</span><a href="#about">${e(action)}</a></header>
<main>
<section class="tile intro"><h1>${e(headline)}</h1><div><p>${e(lead)}</p></div><a href="#about">${e(action)}</a></section>
<div class="tile shape" role="img" aria-label="Circles that rise like a sun"></div>
${items.map(([title, text, aside]) => `<article class="tile third"><span class="aside">${e(aside)}</span><div><h3>${e(title)}</h3><p>${e(text)}</p></div></article>`).join('\n')}
<blockquote class="tile quote" id="about"><span>“${e(quote)}”</span><cite>${e(by)}</cite></blockquote>
</main>`,
  });

/** One design for each of the demo's models. */
export const DESIGNS: Readonly<Record<'editorial' | 'midnight' | 'poster' | 'bento', Design>> = {
  editorial,
  midnight,
  poster,
  bento,
};
