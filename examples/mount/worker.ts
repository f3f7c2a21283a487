/** A Worker with routes of its own, and agents under /ai: `npm start -- --config examples/mount/wrangler.toml --base-path /ai`. */
import { Hono } from 'hono';
import { createRunlet, defineAgent } from 'runlet/cloudflare';

const desk = defineAgent({ name: 'desk', description: 'Answers customers.', examples: ['Where is my order?'] });
const runlet = createRunlet({ agents: [desk], basePath: '/ai' });
const shop = new Hono().get('/', (c) => c.text('The shop, as it was.'));

shop.mount('/ai', runlet.fetch);
export const { Session, Ledger, Directory, Publisher } = runlet;
export default shop;
