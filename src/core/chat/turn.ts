import type { Actor } from '../base/actor.ts';
import { createFieldError } from '../base/errors.ts';
import { raceAbort } from '../base/promises.ts';
import { createBuiltins } from '../skill/builtins.ts';
import { effectiveResolver, type SkillContext, type SkillResolver } from '../skill/index.ts';
import { listAdvertised } from '../skill/resolver.ts';
import { filterAvailable } from '../tool/call.ts';
import { forAgent, inMemoryState, type StateStore, type Tool } from '../tool/index.ts';
import { draftState } from '../tool/state.ts';
import { noEnv } from '../tool/tool.ts';
import { ActiveSkills } from './active-skills.ts';
import { askWithinContext } from './context-limit.ts';
import { type Conversation, listTexts } from './conversation.ts';
import type { Message } from './message.ts';
import type { TurnReaders } from './model-call.ts';
import { createResultReader, isReferring, readResultName } from './old-results.ts';
import { assertKnownOptions, type ChatOptions, readAskedBy, writeSystem } from './options.ts';
import { assertEffort } from './provider.ts';
import { anyObjectWords, assertReadable, isAnyObject, selectOfferedTools } from './requirements.ts';
import type { TurnReply } from './streamed-reply.ts';
import type { CallsContext } from './tool-calls.ts';
import { createCatalog, type SentTools, selectSentTools, type ToolCatalog } from './tool-catalog.ts';

export interface TurnSetting {
	readonly options: ChatOptions;
	readonly runId: string;
	readonly catalog: ToolCatalog;
	/** The tool that opens older results. Missing if results are always sent whole. */
	readonly reader?: Tool;
	readonly resolver?: SkillResolver;
	readonly skills?: ActiveSkills;
	readonly context: CallsContext;
	readonly state: StateStore;
	readonly stream: boolean;
	readonly signal: AbortSignal;
}

/** Reads a run's options. Throws `invalid_request` if an option is wrong. */
export function prepareTurns(
	options: ChatOptions,
	{ stream, signal }: Pick<TurnSetting, 'stream' | 'signal'>,
	messages: readonly Message[],
): TurnSetting {
	assertKnownOptions(options);
	if (typeof options.model !== 'string' || options.model === '') {
		throw createFieldError('invalid_request', 'model', 'missing. Name one, such as "demo".');
	}
	assertReadable(options.outputSchema);
	assertEffort(options.reasoningEffort);
	const { sessionId, runId = crypto.randomUUID(), workspace, shell, fetch, web, wakeups } = options.context ?? {};
	const { env = noEnv, state = inMemoryState(), owner, user, metadata = {} } = options.context ?? {};
	const resolver = effectiveResolver(options.skillResolver, options.skills);
	const offered = forAgent(options.skillTools ?? []);
	const skills = resolver && new ActiveSkills({ resolver, offered, tools: () => catalog.tools, signal });
	const builtins = resolver === undefined ? [] : createBuiltins(resolver, { bundle: (more) => skills?.bundle(more) });
	const reader = isReferring(options) ? createResultReader(messages) : undefined;
	const catalog = createCatalog(options, reader === undefined ? builtins : [...builtins, reader], signal);
	const context = {
		signal,
		runId,
		sessionId,
		owner,
		user,
		metadata,
		env,
		workspace,
		fetch,
		web,
		shell,
		wakeups,
		readConversation: () => listTexts(messages),
		onThrow: options.onToolThrow,
		createKey: options.context?.createKey,
		createTraceparent: options.context?.createTraceparent,
		get askedBy(): Actor | undefined {
			return readAskedBy(options.context ?? {});
		},
		get skillContext(): SkillContext {
			const { skillContext = options.context?.skillContext ?? {} } = options;
			return typeof skillContext === 'function' ? skillContext() : skillContext;
		},
	};
	return { options, runId, resolver, skills, catalog, reader, context, state, stream, signal };
}

/** Finds all tools that a turn can call now. The messages of the turn end at `end`. */
export async function findTools(
	{ catalog, skills }: TurnSetting,
	conversation: Conversation,
	end: number,
): Promise<readonly Tool[]> {
	await catalog.load();
	const { tools } = catalog;
	return skills === undefined ? tools : skills.toolsAt(conversation, end);
}

export async function takeTurn(
	{ options, resolver, skills, catalog, reader, context, state, stream, signal }: TurnSetting,
	conversation: Conversation,
	tools: readonly Tool[],
	readers: TurnReaders,
): Promise<TurnReply> {
	const { messages } = conversation;
	const system = await writeSystemPrompt({ options, resolver, context, signal }, conversation);
	const available = await filterAvailable(tools, {
		...context,
		state: draftState(state).state,
		timeoutMs: options.timeouts?.toolMs,
	});
	const callable = selectOfferedTools(available, options, messages);
	const select = (): SentTools => {
		const first = conversation.references?.first;
		const later = {
			own: catalog.ownNames,
			mostTokens: catalog.mostTokens,
			bySkills: new Map([...(skills?.listOrigins() ?? []), ...(first ? [[readResultName, first] as const] : [])]),
		};
		// Without references the model has no results to open.
		const sendable = first === undefined ? callable.filter((tool) => tool !== reader) : callable;
		return selectSentTools(sendable, later, options, conversation);
	};
	return askWithinContext(
		{
			options,
			system,
			...select(),
			// The left-out messages may have introduced a tool.
			selectAgain: async () => {
				await skills?.toolsAt(conversation, messages.length);
				return select();
			},
			stream,
			signal,
			readers,
			skills: () => skills?.names ?? [],
			canRefer: reader !== undefined && callable.includes(reader),
		},
		conversation,
	);
}

async function writeSystemPrompt(
	{ options, resolver, context, signal }: Pick<TurnSetting, 'options' | 'resolver' | 'context' | 'signal'>,
	{ messages }: Conversation,
): Promise<string | undefined> {
	const { model, outputSchema } = options;
	const system = await raceAbort(writeSystem(options.system, context), signal);
	const skills = resolver && (await raceAbort(listAdvertised(resolver, { messages, system, model }), signal));
	const form = isAnyObject(outputSchema) ? anyObjectWords : undefined;
	// The list of skills is last, because it changes more often than the rest.
	return [system, form, skills].filter((text) => text !== undefined && text !== '').join('\n\n') || undefined;
}
