import { createRunlet } from 'runlet/cloudflare';
import { agents } from './agents/index.ts';

// More is an import and a name here, such as mcp of 'runlet/cloudflare/mcp': also memory, schedules and links.
const runlet = createRunlet({ agents });

/** The Durable Objects that `wrangler.toml` binds. */
export const { Session, Ledger, Directory, Publisher } = runlet;

export default runlet;
