import type { Directory, Ledger, Memory, Publisher, Session } from './worker.ts';

declare global {
	namespace Cloudflare {
		interface Env {
			readonly SESSIONS: DurableObjectNamespace<Session>;
			readonly LEDGERS: DurableObjectNamespace<InstanceType<typeof Ledger>>;
			readonly DIRECTORIES: DurableObjectNamespace<InstanceType<typeof Directory>>;
			readonly PUBLISHERS: DurableObjectNamespace<InstanceType<typeof Publisher>>;
			readonly MEMORIES: DurableObjectNamespace<Memory>;
			readonly SKILLS: KVNamespace;
			readonly FILES: R2Bucket;
			readonly LOADER: WorkerLoader;
		}
	}
}
