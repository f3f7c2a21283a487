import { findAgent } from '../../agent/define.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import type { ListedTool, OutsideCall } from '../../objects/outside-call.ts';
import type { Bytes } from '../../objects/result.ts';
import type { Caller, CreateInput } from '../../objects/session-api.ts';
import { hasServers } from '../run/connections.ts';
import { assertMayDecide } from '../run/may-decide.ts';
import type { Runner } from '../run/runner.ts';
import { toSpeaker } from '../store/inbound.ts';
import type { SessionStore } from '../store/store.ts';
import type { Access } from './access.ts';
import type { Gate } from './gate.ts';
import type { Inbox } from './inbox.ts';

interface OutsideDoorOptions {
	readonly runtime: Pick<Runtime, 'agents'>;
	readonly config: () => Config;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly access: Access;
	readonly gate: Gate;
	readonly inbox: Inbox;
}

const rights = ['sendMessage'] as const;

/** The way in for calls of the agent's tools from outside of runs. */
export class OutsideDoor {
	readonly #options: OutsideDoorOptions;

	constructor(options: OutsideDoorOptions) {
		this.#options = options;
	}

	async list(caller: Caller, agent: string, create: CreateInput | undefined): Promise<readonly ListedTool[]> {
		const { runtime, store, runner, access, gate, inbox } = this.#options;
		// Servers know the session that asks them.
		if (hasServers(findAgent(runtime.agents, agent))) await gate.take({ caller, agent, rights, create }, inbox.visit());
		else if (create !== undefined && access.isMissing()) return runner.outside.list(create);
		await access.open(caller, rights, agent);
		return runner.outside.list(store.session());
	}

	async begin(caller: Caller, call: OutsideCall, create: CreateInput | undefined): Promise<Bytes> {
		const { runtime, config, store, runner, access, gate, inbox } = this.#options;
		const { by } = await gate.take({ caller, agent: call.agent, rights, create }, inbox.visit());
		const pass = await access.open(caller, rights, call.agent);
		const askedBy = by && toSpeaker(by, store.session());
		return runner.outside.begin(call, askedBy, (asked, approve) => {
			pass.assert('decide');
			if (by === undefined || askedBy === undefined) return;
			// Who calls a tool from outside is who asks for it, too.
			const decision = { call: asked, approve, by, askers: () => [askedBy] };
			assertMayDecide({ session: store.session(), agents: runtime.agents, config }, decision);
		});
	}
}
