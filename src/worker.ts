import { agents } from './agents/index.ts';
import { createApp } from './app.ts';
import { demo } from './providers/index.ts';
import { createSessionClass } from './session/object.ts';

const runtime = { agents, providers: () => [demo({ delayMs: 15 })] };

/** The Durable Object class that `wrangler.toml` binds as `SESSIONS`. */
export class Session extends createSessionClass(runtime) {}

export default createApp(runtime);
