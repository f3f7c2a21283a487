import type { Directory, Ledger, Publisher, Session } from './worker.ts';

declare global {
	namespace Cloudflare {
		interface Env {
			readonly SESSIONS: DurableObjectNamespace<Session>;
			readonly LEDGERS: DurableObjectNamespace<Ledger>;
			readonly DIRECTORIES: DurableObjectNamespace<Directory>;
			readonly PUBLISHERS: DurableObjectNamespace<Publisher>;
			readonly SKILLS: KVNamespace;
		}
	}
}
