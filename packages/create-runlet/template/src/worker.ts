import { createRunlet } from 'runlet/cloudflare';
import { mcp } from 'runlet/cloudflare/mcp';
import { agents } from './agents/index.ts';

const runlet = createRunlet({ agents, plugins: [mcp] });

/** The Durable Objects that `wrangler.toml` binds. */
export const { Session, Ledger, Directory, Publisher } = runlet;

export default runlet;
