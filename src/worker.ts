import { agents } from './agents/index.ts';
import { createApp } from './app.ts';
import { createDirectoryClass } from './directory/object.ts';
import { createLedgerClass } from './ledger/object.ts';
import { createProviders } from './models.ts';
import { createPublisherClass } from './publisher/object.ts';
import { createSessionClass } from './session/object.ts';

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
