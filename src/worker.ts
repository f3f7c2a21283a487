import { agents } from './agents/index.ts';
import { createProviders } from './cloudflare/config/models.ts';
import { createApp } from './cloudflare/routes/app.ts';
import { bindSession } from './cloudflare/session/object.ts';

const runtime = { agents, providers: createProviders };

/** The Durable Objects that `wrangler.toml` binds: this one as `SESSIONS`, and one class each for the others. */
export class Session extends bindSession(runtime) {}

export { Directory } from './cloudflare/objects/directory/object.ts';
export { Ledger } from './cloudflare/objects/ledger/object.ts';
export { Publisher } from './cloudflare/objects/publisher/object.ts';

export default createApp(runtime);
