import { agents } from './agents/index.ts';
import { createApp } from './cloudflare/app.ts';
import { createProviders } from './cloudflare/models.ts';
import { bindSession } from './cloudflare/session/object.ts';

const runtime = { agents, providers: createProviders };

/** The Durable Objects that `wrangler.toml` binds: this one as `SESSIONS`, and one class each for the others. */
export class Session extends bindSession(runtime) {}

export { Directory } from './cloudflare/directory/object.ts';
export { Ledger } from './cloudflare/ledger/object.ts';
export { Publisher } from './cloudflare/publisher/object.ts';

export default createApp(runtime);
