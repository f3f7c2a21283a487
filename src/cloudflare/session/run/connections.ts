import type { TerminalEvent } from '../../../core/chat/index.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { isOwners, type SessionRecord } from '../store/session-row.ts';

/** How long connections stay open after a run, in milliseconds. The object sleeps soon after that. */
const idleMs = 60_000;

/**
 * How long connections stay open while a run waits for a person, in milliseconds. A server may wait for the answer,
 * too.
 */
const waitingMs = 900_000;

export function hasServers({ mcp = [], userMcp }: Pick<Agent, 'mcp' | 'userMcp'>): boolean {
	return mcp.length > 0 || userMcp === true;
}

/** The connections of a session to MCP servers. They close when no run or call has used them for a while. */
export class Connections {
	readonly #runtime: Runtime;
	readonly #isUsed: () => boolean;
	#open: McpConnections | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	/** @param isUsed whether a run or a call uses the connections now */
	constructor(runtime: Runtime, isUsed: () => boolean) {
		this.#runtime = runtime;
		this.#isUsed = isUsed;
	}

	/** Opens the connections for a run or a call. Returns nothing if the agent has no servers. */
	take(session: SessionRecord, config: Config): McpConnections | undefined {
		const { mcp, agents } = this.#runtime;
		const { id, owner, user, agent: name } = session;
		const agent = findAgent(agents, name);
		if (mcp === undefined || !hasServers(agent)) return undefined;
		clearTimeout(this.#timer);
		this.#open ??= mcp.connect({ config, session: id, owner, user, isOwners: isOwners(session), agent, agents });
		this.#open.refresh();
		return this.#open;
	}

	/** Closes the connections later, unless a run or a call uses them again. */
	rest(type: TerminalEvent['type']): void {
		if (this.#open === undefined) return;
		clearTimeout(this.#timer);
		const end = () => (this.#isUsed() ? this.rest(type) : void this.close());
		this.#timer = setTimeout(end, type === 'awaiting' ? waitingMs : idleMs);
	}

	/** Never throws. */
	async close(): Promise<void> {
		clearTimeout(this.#timer);
		const open = this.#open;
		this.#open = undefined;
		await open?.close();
	}
}
