import type {
	CallToolRequestParams,
	CallToolResult,
	InputRequiredResult,
	Tool as McpTool,
	Server,
	ServerContext,
} from '@modelcontextprotocol/server';
import { RunletError } from '../../../core/base/errors.ts';
import { providerName } from '../../../core/tool/index.ts';
import { createTooLongToShow, isTooLongToShow } from '../../agent/arguments.ts';
import { type ListedTool, type OutsideEnd, type OutsideLine, readLines } from '../../objects/outside-call.ts';
import { type ToolSession, usualSession } from '../../routes/tool-session.ts';
import { type AnswerKind, askClient, canElicit, readAnswer, toAnswerKey, toAnswerKind } from './elicit.ts';
import { createInvalid } from './failure.ts';
import { createTell, textResult, toCallResult } from './result.ts';
import { MissingRequiredClientCapabilityError } from './sdk.ts';
import type { ServedAgent } from './served.ts';

type Waits = Extract<OutsideEnd, { readonly type: 'waits' }>;

export interface AgentTools {
	list(): Promise<readonly ListedTool[]>;
	call(params: CallToolRequestParams, ctx: ServerContext): Promise<CallToolResult | InputRequiredResult>;
}

/** The tools run in the session of the address, or in a shared session. `project` adapts results to the revision. */
export function createAgentTools(
	{ agent, caller, sessionName = usualSession, findSession }: ServedAgent,
	project: Server['projectCallToolResult'],
): AgentTools {
	const session = findSession(sessionName);
	const list = () => session.ask((one) => one.tools(caller, agent.name, session.create), true);
	return {
		list,
		call: async (params, ctx) => {
			const end = await begin({ agent, caller }, session, params, ctx);
			if (end.type === 'failed') throw new RunletError(end.code, end.message, end.data);
			if (end.type === 'waits') return toQuestion(end, params, ctx);
			const tool = await findTool(params.name, { agent, list });
			return project(await toCallResult(end, tool), tool.outputSchema);
		},
	};
}

/** Describes a tool. Leaves out unknown facts, such as whether the tool only reads. */
export function describeTool({
	name,
	description,
	inputSchema,
	outputSchema,
	metadata,
	isRepeatable,
}: ListedTool): McpTool {
	const title = metadata?.title;
	return {
		name: toToolName(name),
		...(typeof title === 'string' && { title }),
		...(description !== undefined && { description }),
		inputSchema: { ...inputSchema, type: 'object' },
		...(outputSchema !== undefined && { outputSchema: { ...outputSchema } }),
		...(isRepeatable && { annotations: { idempotentHint: true } }),
	};
}

const allowedName = /^[\w.-]{1,128}$/;

function toToolName(name: string): string {
	return allowedName.test(name) ? name : providerName(name);
}

/** Finds the output schema of a tool. Needs another request only for a tool that is not in the agent's code. */
async function findTool(name: string, { agent, list }: Pick<ServedAgent, 'agent'> & Pick<AgentTools, 'list'>) {
	const isNamed = (tool: { readonly name: string }): boolean => tool.name === name || toToolName(tool.name) === name;
	return agent.tools.find(isNamed) ?? (await list()).find(isNamed) ?? { name, outputSchema: undefined };
}

/** Calls a tool, reports the notes of the call, and returns how the call ended. */
async function begin(
	{ agent, caller }: Pick<ServedAgent, 'agent' | 'caller'>,
	session: ToolSession,
	{ name, arguments: input = {} }: CallToolRequestParams,
	ctx: ServerContext,
): Promise<OutsideEnd> {
	const state = readState(ctx);
	const answer = state && readAnswer(ctx, state.key, state.kind);
	if (state !== undefined && answer === undefined)
		return { type: 'result', output: 'Not run: nobody has answered.', isError: true };
	const call = {
		agent: agent.name,
		tool: name,
		input,
		canAsk: canElicit(ctx),
		...(state !== undefined && answer !== undefined && { answer: { waiting: state.waiting, ...answer } }),
	};
	const bytes = await session.ask((one) => one.callTool(caller, call, session.create), false);
	const tell = createTell(ctx, name);
	for await (const line of readLines<OutsideLine>(bytes, ctx.mcpReq.signal)) {
		if (line.type !== 'note') return line;
		await tell(line.label, line.detail);
	}
	throw new RunletError('interrupted', `${name} was cut off, so it is not known whether it was carried out.`);
}

/** The kind of the answer, the name of the question, and the secret name that the session gave to the waiting call. */
const stateForm = /^(approval|result|answer|form|link)\.([\w-]{1,64})\.([0-9a-f]{32})$/;
const kinds: readonly AnswerKind[] = ['approval', 'result', 'answer', 'form', 'link'];

interface WaitingState {
	readonly kind: AnswerKind;
	readonly waiting: string;
	readonly key: string;
}

function readState({ mcpReq }: ServerContext): WaitingState | undefined {
	const state = mcpReq.requestState<string>();
	if (state === undefined) return undefined;
	const [, given, key, waiting] = stateForm.exec(state) ?? [];
	const kind = kinds.find((one) => one === given);
	if (kind === undefined || waiting === undefined || key === undefined)
		throw createInvalid('requestState: not one of this server.');
	return { kind, waiting, key };
}

function toQuestion(
	end: Waits,
	{ name, arguments: input = {} }: CallToolRequestParams,
	{ mcpReq }: ServerContext,
): CallToolResult | InputRequiredResult {
	const { for: waitsFor, waiting, question, options, preview } = end;
	const entry = { for: waitsFor, tool: name, input, question, options, preview };
	if (waiting === undefined) {
		const refusal = describeRefusal(end, name);
		// Only clients of revision 2026-07-28 know this error. Other clients get a result for their model.
		if (mcpReq.envelope === undefined) return textResult(refusal, true);
		throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { elicitation: { form: {} } } }, refusal);
	}
	if (waitsFor !== 'answer' && isTooLongToShow(input))
		return textResult(createTooLongToShow('arguments').message, true);
	const key = toAnswerKey(entry);
	return askClient({ [key]: entry }, `${toAnswerKind(entry)}.${key}.${waiting}`);
}

function describeRefusal({ for: waitsFor, question }: Waits, name: string): string {
	const why = {
		approval: `${name} was not run: a person has to allow it`,
		result: `${name} was not run: a person has to do it by hand`,
		answer: `${name} asks a person: ${question ?? ''}\nIts call was given up`,
	}[waitsFor];
	return `${why}, and this client cannot ask one (elicitation, revision 2026-07-28). Give the task to the agent instead, by its tool ask or agent_start, and answer what waits on the page or over HTTP: POST /v1/sessions/ID/tool-results or /answer.`;
}
