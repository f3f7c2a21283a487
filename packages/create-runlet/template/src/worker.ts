import { createRunlet } from 'runlet/cloudflare';
import { agents } from './agents/index.ts';

const runlet = createRunlet({ agents });

/** The Durable Objects that `wrangler.toml` binds. */
export const { Session, Ledger, Directory, Publisher } = runlet;

export default runlet;
