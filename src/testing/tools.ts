/** The tools of a test session that reach other agents or MCP servers. */

import { readDecision } from '../cloudflare/agent/child-decision.ts';
import { findChildWork } from '../cloudflare/agent/children.ts';
import type { Agent } from '../cloudflare/agent/define.ts';
import type { AgentMcpServer } from '../cloudflare/agent/mcp-servers.ts';
import { isRecord } from '../core/base/json.ts';
import { askUser, RunletError, type RunResult, type Tool, type ToolContext } from '../core/index.ts';
import { createToolName } from '../core/mcp/server.ts';
import type { TestServers, TestSession } from './options.ts';

/** Connects the tools that call other agents. Each call runs the other agent in a session that `start` makes. */
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

/** Sends an answer to the call that waits in a child session. */
function passOn(session: TestSession, answer: string): Promise<RunResult> {
	const [call] = session.pending;
	if (call === undefined) return session.send(answer);
	if (call.kind !== 'approval') return session.submit([{ id: call.id, output: answer }]);
	return session.submit([readDecision(call.id, answer)]);
}

/** Returns the answer of a child, or asks the child's question. The texts are the same as in a Worker. */
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

/** Makes the tools of fake MCP servers for an agent. The servers are those that the agent declares, or a user's own. */
export function createServerTools({ mcp = [], userMcp }: Agent, servers: TestServers): readonly Tool[] {
	return Object.entries(servers).flatMap(([name, tools]) => {
		const declared = mcp.find((server) => server.name === name);
		if (declared === undefined && userMcp !== true) throw new Error(`mcp: the agent has no server ${name}.`);
		const server: Pick<AgentMcpServer, 'name' | 'allow' | 'needsApproval' | 'safe'> = declared ?? { name };
		const isAllowed = (tool: Tool) => server.allow?.includes(tool.name) ?? true;
		return tools.filter(isAllowed).map((tool) => offer(tool, server));
	});
}

function offer(
	tool: Tool,
	{ name, needsApproval = false, safe = [] }: Pick<AgentMcpServer, 'name' | 'needsApproval' | 'safe'>,
): Tool {
	return {
		...tool,
		name: createToolName({ name }, tool.name),
		reads: 'outside',
		writes: 'outside',
		needsApproval: typeof needsApproval === 'boolean' ? needsApproval : needsApproval.includes(tool.name),
		retry: safe.includes(tool.name) ? 'safe' : 'never',
	};
}
