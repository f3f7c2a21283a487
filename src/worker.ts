import { agents } from './agents/index.ts';
import { createApp } from './app.ts';
import { providersOf } from './models.ts';
import { createSessionClass } from './session/object.ts';

const runtime = { agents, providers: providersOf };

/** The Durable Object class that `wrangler.toml` binds as `SESSIONS`. */
export class Session extends createSessionClass(runtime) {}

export default createApp(runtime);
