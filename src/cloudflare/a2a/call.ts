import type { Context } from 'hono';
import type { Agent } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { RouteEnv } from '../routes/identity.ts';
import type { RpcId } from '../wire/protocols/a2a/rpc.ts';

/** A call of a method. */
export interface Call {
	readonly c: Context<RouteEnv>;
	readonly runtime: Runtime;
	readonly agent: Agent;
	readonly params: Readonly<Record<string, unknown>>;
	readonly id: RpcId;
}
