import { readDecision } from '../cloudflare/agent/child-decision.ts';
import { findChildWork } from '../cloudflare/agent/children.ts';
import { isRecord } from '../core/ground/json.ts';
import { askUser, RunletError, type RunResult, type Tool, type ToolContext } from '../core/index.ts';
import type { TestSession } from './options.ts';

/** Has the tools of other agents run those agents, each call in a session that `start` makes. */
export function connectTestChildren(tools: readonly Tool[], start: (agent: string) => TestSession): readonly Tool[] {
	const begun = new Map<string, { readonly agent: string; readonly session: TestSession }>();
	return tools.map((tool): Tool => {
		const work = findChildWork(tool);
		if (work === undefined) return tool;
		return {
			...tool,
			fn: async (input: unknown, { callId }: ToolContext) => {
				const { agent: named, task } = isRecord(input) ? input : {};
				const agent = typeof named === 'string' ? named : (work.agents[0] ?? '');
				const session = start(agent);
				begun.set(callId, { agent, session });
				return follow(agent, session, () => session.send(String(task)));
			},
			onAnswer: (answer, _, { callId }) => {
				const child = begun.get(callId);
				if (child === undefined) throw new RunletError('conflict', 'The agent that asked is gone. Call it again.');
				return follow(child.agent, child.session, () => passOn(child.session, answer));
			},
		};
	});
}

/** Answers what a child waits for. */
function passOn(session: TestSession, answer: string): Promise<RunResult> {
	const [call] = session.pending;
	if (call === undefined) return session.send(answer);
	if (call.kind !== 'approval') return session.submit([{ id: call.id, output: answer }]);
	return session.submit([readDecision(call.id, answer)]);
}

/** Returns the answer of a child, or asks what it waits for, in the words of a Worker. */
async function follow(agent: string, session: TestSession, work: () => Promise<RunResult>): Promise<unknown> {
	const { status, text, output, metadata } = await work().catch((error: unknown) => {
		throw createEnd(agent, error instanceof RunletError ? `${error.code}: ${error.message}` : String(error));
	});
	const child = { id: 'child', agent };
	const [call] = session.pending;
	if (call !== undefined) {
		const { kind = 'result', ...asked } = call;
		const what = `${call.name}(${JSON.stringify(call.input)})`;
		return kind === 'approval'
			? askUser(`${agent} asks: may it call ${what}?`, { child, kind, call: asked, choices: ['approve', 'deny'] }, {})
			: askUser(`${agent} asks for the result of ${what}.`, { child, kind, call: asked }, {});
	}
	const { question } = metadata;
	if (question !== undefined) return askUser(question.question, { child, ...question.options }, {});
	if (status !== 'completed') throw createEnd(agent, status);
	return output ?? text;
}

function createEnd(agent: string, why: string): RunletError {
	return new RunletError('conflict', `${agent} did not finish the task (${why})`);
}
