import { createRunlet } from 'runlet/cloudflare';
import { a2a } from 'runlet/cloudflare/a2a';
import { agui } from 'runlet/cloudflare/agui';
import { embeddings } from 'runlet/cloudflare/embeddings';
import { files } from 'runlet/cloudflare/files';
import { links } from 'runlet/cloudflare/links';
import { mcp } from 'runlet/cloudflare/mcp';
import { memory } from 'runlet/cloudflare/memory';
import { messages } from 'runlet/cloudflare/messages';
import { responses } from 'runlet/cloudflare/responses';
import { schedules } from 'runlet/cloudflare/schedules';
import { agents } from './agents/index.ts';

const runlet = createRunlet({
	agents,
	plugins: [mcp, memory, schedules, links, messages, a2a, agui, responses, files, embeddings],
});

/** The Durable Object classes to which `wrangler.toml` binds. */
export const { Session, Ledger, Directory, Publisher } = runlet;

export { Memory } from 'runlet/cloudflare/memory';

export default runlet;
