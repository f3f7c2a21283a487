import type { TerminalEvent } from '../../../core/chat/index.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { isOwners } from '../store/session-row.ts';
import type { RunnerOptions } from './prepare.ts';

/** How long connections stay open after a run, in milliseconds: the object sleeps soon after that. */
const idleMs = 60_000;

/** How long they stay open while a run waits for a person. A server may wait for the answer, too (docs/mcp.md). */
const waitingMs = 900_000;

/** Whether an agent's sessions have connections. */
export function hasServers({ mcp = [], userMcp }: Pick<Agent, 'mcp' | 'userMcp'>): boolean {
	return mcp.length > 0 || userMcp === true;
}

/** The connections of a session to MCP servers. They are opened by runs and calls, and closed when nothing has needed them for a while. */
export class Connections {
	readonly #options: RunnerOptions;
	readonly #isUsed: () => boolean;
	#open: McpConnections | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	/** @param isUsed whether a run or a call needs them now */
	constructor(options: RunnerOptions, isUsed: () => boolean) {
		this.#options = options;
		this.#isUsed = isUsed;
	}

	/** Gives a run that begins the connections of its agent's servers. Nothing if it has none. */
	take(): McpConnections | undefined {
		const { runtime, store, config } = this.#options;
		const session = store.session();
		const { id, owner, user, agent: name } = session;
		const agent = findAgent(runtime.agents, name);
		if (runtime.mcp === undefined || !hasServers(agent)) return undefined;
		clearTimeout(this.#timer);
		this.#open ??= runtime.mcp.connect({
			config: config(),
			session: id,
			owner,
			user,
			isOwners: isOwners(session),
			agent,
			agents: runtime.agents,
		});
		this.#open.refresh();
		return this.#open;
	}

	/** Leaves them to the next run or call, for a while. */
	rest(type: TerminalEvent['type']): void {
		if (this.#open === undefined) return;
		clearTimeout(this.#timer);
		const end = () => (this.#isUsed() ? this.rest(type) : void this.close());
		this.#timer = setTimeout(end, type === 'awaiting' ? waitingMs : idleMs);
	}

	/** Closes them. Never throws. */
	async close(): Promise<void> {
		clearTimeout(this.#timer);
		const open = this.#open;
		this.#open = undefined;
		await open?.close();
	}
}
