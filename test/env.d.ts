import type { Session } from './worker.ts';

declare global {
	namespace Cloudflare {
		interface Env {
			readonly SESSIONS: DurableObjectNamespace<Session>;
			readonly SKILLS: KVNamespace;
		}
	}
}
