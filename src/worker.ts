import { agents } from './agents/index.ts';
import { createApp } from './cloudflare/app.ts';
import { createDirectoryClass } from './cloudflare/directory/object.ts';
import { createLedgerClass } from './cloudflare/ledger/object.ts';
import { createProviders } from './cloudflare/models.ts';
import { createPublisherClass } from './cloudflare/publisher/object.ts';
import { createSessionClass } from './cloudflare/session/object.ts';

const runtime = { agents, providers: createProviders };

/** The Durable Object class that `wrangler.toml` binds as `SESSIONS`. */
export class Session extends createSessionClass(runtime) {}

/** Bound as `LEDGERS`. */
export class Ledger extends createLedgerClass() {}

/** Bound as `DIRECTORIES`. */
export class Directory extends createDirectoryClass() {}

/** Bound as `PUBLISHERS`. */
export class Publisher extends createPublisherClass() {}

export default createApp(runtime);
