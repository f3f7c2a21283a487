import type { ScriptedFn, ScriptedTurn } from '../../../src/core/providers/scripted.ts';
import { readHistory, request } from '../../client.ts';
import { play } from '../../script.ts';

export const usage = (inputTokens: number, outputTokens: number) => ({ inputTokens, outputTokens });
/** A call that gives a task to an agent. */
export const give = (id: string, task: string, name = 'writer') => ({ id, name, input: { task } });
/** Returns the last message of a request as a text. */
export const said: (request: Parameters<ScriptedFn>[0]) => string = ({ messages }) => String(messages.at(-1)?.content);

/** Gives each agent a script. Returns the number of requests of each. */
export function cast(scripts: { readonly editor: readonly ScriptedTurn[]; readonly writer?: ScriptedFn }) {
	const asked = { editor: 0, writer: 0 };
	const next: ScriptedFn = async (request, show) => {
		if (request.model === 'scripted-writer') {
			asked.writer++;
			return scripts.writer?.(request, show);
		}
		const turn = scripts.editor[asked.editor++];
		return typeof turn === 'function' ? turn(request, show) : turn;
	};
	play(...Array.from({ length: 200 }, () => next));
	return asked;
}

/** Creates a session of an agent whose writers are other agents. */
export async function createEditor(budget?: object): Promise<string> {
	const response = await request('/v1/sessions', { agent: 'editor', budget });
	return (await response.json<{ id: string }>()).id;
}

export interface WireChild {
	readonly id: string;
	readonly callId: string;
	readonly spent?: { readonly tokens: number };
}

export async function readChildren(id: string): Promise<readonly WireChild[]> {
	const { children = [] } = await (await request(`/v1/sessions/${id}`)).json<{ children?: readonly WireChild[] }>();
	return children;
}

export const readResults = async (id: string) => (await readHistory(id)).filter(({ role }) => role === 'tool');
