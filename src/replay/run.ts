import { type Agent, toChatOptions } from '../cloudflare/agent/define.ts';
import { createFlowCheck } from '../cloudflare/agent/flow.ts';
import { findNamed, joinSkills } from '../cloudflare/agent/resolver.ts';
import { findResolver } from '../cloudflare/agent/skill-source.ts';
import { toActor, toActors } from '../cloudflare/auth/rights.ts';
import { type Inbound, InboundContext } from '../cloudflare/session/store/inbound.ts';
import { listOpenCalls } from '../core/chat/message.ts';
import { resolveRegistration } from '../core/chat/registry.ts';
import { chat, type Message, skill } from '../core/index.ts';
import { anthropic, deepseek, gemini, groq, mistral, openai, xai } from '../core/providers/index.ts';
import { noEnv } from '../core/tool/tool.ts';
import { findDifference } from './divergence.ts';
import { type RecordedResult, toConversation } from './history.ts';
import type { RecordedMessage, RecordedRun, Recording } from './recording.ts';
import type { ReplayedSession } from './session.ts';
import { type ReplayedRun, Tape } from './tape.ts';
import { offerTools } from './tools.ts';

/** Runs an agent again over the recorded history, with the recorded replies of the model. */
export async function replayRun(session: ReplayedSession, run: RecordedRun): Promise<ReplayedRun> {
	const { recording, agent, clock } = session;
	const { owner, user, metadata = {}, id: sessionId } = recording.session;
	const tape = new Tape(recording, run, clock);
	const { history, steered } = tape.messages;
	const inbound = createInbound(history, recording);
	const conversation = toConversation(history);
	const model = run.model ?? recording.session.model;
	const started = chat.run(
		{
			...toChatOptions(agent),
			...run.stored.terms,
			...offerTools(session, run, tape, createResolver(session, inbound)),
			model,
			fallbacks: [],
			maxRetries: 0,
			modelContextWindow: findWindow(model),
			lastPrompt: history.findLast(({ role }) => role === 'assistant')?.stored?.prompt,
			skillContext: () => inbound.current,
			context: {
				...{ sessionId, runId: run.id, owner, user, metadata, env: { ...noEnv, ...session.env } },
				...{ state: session.state, workspace: session.workspace, askedBy: () => inbound.askedBy },
			},
			checkFlow: repeatFlow(agent.flow, run),
			openCalls: findOpenCalls(recording, run, conversation, tape.findResult),
			signal: tape.signal,
			chatStreamFn: tape.reply,
			chatFn: tape.summarize,
			steer: () => {
				const arrived = steered.get(tape.count) ?? [];
				const messages = toConversation(arrived);
				for (const [at, message] of messages.entries())
					inbound.accept(message, readInbound(arrived[at]?.stored?.inbound));
				return messages;
			},
			onMessage: tape.take,
		},
		conversation,
	);
	let last: chat.RunEvent | undefined;
	for await (const event of started.events) last = event;
	return tape.end(last);
}

/** Creates the resolver of the agent's skills. */
export function createResolver({ agent, skills, env, recording }: ReplayedSession, { askedBy }: InboundContext) {
	const { owner, user, metadata = {} } = recording.session;
	const reader = { owner, user, metadata, askedBy };
	// As the resolver of KV, which has a search and files.
	const published = { ...skill.searchableResolver(skills, { alwaysOn: skills }), hasFiles: true };
	const source = agent.skillResolver ?? published;
	return joinSkills(agent, (names) => findNamed(findResolver(source, { ...noEnv, ...env }, reader), names));
}

function createInbound(history: readonly RecordedMessage[], { session: { owner, user } }: Recording): InboundContext {
	const conversation = toConversation(history);
	const records = history.flatMap(({ stored }, at) => {
		const message = conversation[at];
		return message === undefined ? [] : [{ message, inbound: readInbound(stored?.inbound) }];
	});
	return new InboundContext(records, { owner, user });
}

export function readInbound(inbound: NonNullable<RecordedMessage['stored']>['inbound']): Inbound | undefined {
	if (inbound === undefined) return undefined;
	const { by, askers, ...about } = inbound;
	const actor = toActor(by);
	return { ...about, ...(actor && { by: actor }), ...(askers && { askers: toActors(askers) }) };
}

/** The decisions and answers that a run began with. */
function findOpenCalls(
	{ runs }: Recording,
	run: RecordedRun,
	conversation: readonly Message[],
	findResult: (id: string) => RecordedResult | undefined,
): ReadonlyMap<string, chat.OpenCallState> {
	const before = runs[runs.indexOf(run) - 1]?.stored.end?.event;
	const question = before?.type === 'awaiting' ? before.question : undefined;
	return new Map(
		listOpenCalls(conversation).map(({ id }) => {
			const result = findResult(id);
			const asked = question?.callId === id ? question : undefined;
			const wasAnswered = asked !== undefined && (result !== undefined || asksAgain(run, id));
			return [
				id,
				{
					// A call of an earlier run that ran in this run was allowed.
					...(result !== undefined && { isApproved: true }),
					...(result?.ranWith && { input: result.ranWith }),
					...(asked && { question: asked }),
					...(wasAnswered && { answer: { text: findAnswer(result), resume: null } }),
				},
			];
		}),
	);
}

/** Whether a call asked another question after its answer. */
function asksAgain({ stored: { end } }: RecordedRun, id: string): boolean {
	return end?.event.type === 'awaiting' && end.event.question?.callId === id;
}

/** The text of the answer, which the run showed as a note before the result. */
function findAnswer(result: RecordedResult | undefined): string {
	const note = result?.stored?.before?.find((side) => side.type === 'note' && side.label === 'Answer');
	return note?.type === 'note' ? (note.detail ?? '') : '';
}

/** The providers that know the context windows of their models. */
const known = [anthropic, openai, xai, gemini, groq, deepseek, mistral].map((create) => create({ apiKey: undefined }));

function findWindow(model: string) {
	return resolveRegistration({ model, providers: known })?.contextWindow;
}

/** Asks about the calls that the recorded run asked about, unless the agent of today decides otherwise. */
function repeatFlow(flow: Agent['flow'], { stored: { end } }: RecordedRun): chat.CheckFlow {
	const asked = end?.event.type === 'awaiting' ? (end.event.toolCalls ?? []) : [];
	return (tool, args) => {
		const reason = asked.find(
			(call) => call.name === tool.name && findDifference(call.input, args) === undefined,
		)?.flow;
		if (reason === undefined) return undefined;
		const isNever = () => false;
		const facts = { labels: () => ['outside', 'private'] as const, list: () => reason, session: { metadata: {} } };
		return createFlowCheck(flow, { ...facts, isGiven: isNever, isGivenSite: isNever })(tool, args);
	};
}
