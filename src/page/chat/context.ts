/** How full the context of a chat is: what the model's newest turn read and wrote, of what a request may have. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Agent, RunEvent, Session } from '../../client/types.ts';
import { element } from '../parts/element.ts';

export type ContextClient = Pick<SessionClient, 'listAgents'>;

type Turn = Pick<Extract<RunEvent, { type: 'step' }>, 'model' | 'usage'>;

export function createContextView(client: ContextClient) {
	const brief = element('span', 'context');
	let agents: readonly Agent[] = [];
	let session: Pick<Session, 'agent' | 'model'> | undefined;
	let turn: Turn | undefined;

	function show(): void {
		const used = (turn?.usage.inputTokens ?? 0) + (turn?.usage.outputTokens ?? 0);
		brief.hidden = used === 0;
		brief.textContent = describeContext(used, findWindow());
	}

	function findWindow(): number | undefined {
		const agent = agents.find(({ name }) => name === session?.agent);
		const models = [...(agent?.models ?? []), ...(agent?.fallbacks ?? [])];
		const find = (wanted = '') => models.find(({ name }) => name === wanted)?.contextWindow;
		return find(turn?.model) ?? find(session?.model);
	}

	function clear(): void {
		session = undefined;
		turn = undefined;
		show();
	}
	clear();

	return {
		brief,
		clear,
		/** Takes the newest turn of the model. */
		setTurn(newest: Turn): void {
			turn = newest;
			show();
		},
		/** Finds out how much the model of a session may be sent. Where it is not told, what was sent is shown alone. */
		async setSession(state: Pick<Session, 'agent' | 'model'>, signal: AbortSignal): Promise<void> {
			session = state;
			if (agents.length === 0) agents = await client.listAgents({ signal }).catch(() => []);
			if (!signal.aborted) show();
		},
	};
}

function describeContext(used: number, window: number | undefined): string {
	if (window === undefined) return `Context: ${used.toLocaleString('en')} tokens`;
	const percent = (100 * used) / window;
	return `Context: ${percent.toFixed(percent < 1 ? 1 : 0)}% of ${window.toLocaleString('en')}`;
}
