import { RunletError } from '../../../core/base/errors.ts';
import { isRecord } from '../../../core/base/json.ts';
import type { ChatOptions } from '../../../core/chat/index.ts';
import { RecordedCalls } from '../../../core/chat/recorded-calls.ts';
import { replaceSkillTools } from '../../../core/skill/replace-tools.ts';
import { halt, parts, providerName, type Tool } from '../../../core/tool/index.ts';
import { copyData } from '../../../core/tool/state.ts';
import type { Rerun } from '../../objects/session-api.ts';
import { type MessagePage, type MessageRecord, toTurnPlace } from '../store/messages.ts';
import type { SentTool } from '../store/setup.ts';
import type { SessionStore } from '../store/store.ts';

type Options = Omit<ChatOptions, 'recall'> & {
	readonly tools: readonly Tool[];
	readonly skillTools: readonly Tool[];
};

/**
 * Returns the options of a session that runs a run again. Recorded results take the place of all functions and hooks
 * of tools, also of those that skills bring, so no call runs. The model is sent the tools that it was sent then, but no
 * tools of its provider.
 */
export function replayCalls<O extends Options>(options: O, { message, prompt }: Rerun, store?: SessionStore): O {
	const records = store?.messages.page({ from: message }).records.map((record) => store.messages.whole(record)) ?? [];
	const recorded = findRecorded(records);
	const calls = new RecordedCalls(listCalls(recorded));
	// After a crash, the calls of this run have their results already.
	for (const { tool, input } of listCalls(records.filter((record) => !isReplaced(record)))) calls.take(tool, input);
	const sent = store && findSentTools(store, message, recorded);
	const names = sent && new Set(sent.map(({ name }) => name));
	const offer = (tools: readonly Tool[]) =>
		tools.flatMap((tool) => (names?.has(providerName(tool.name)) === false ? [] : [answerFrom(calls, tool)]));
	const loaded = sent?.filter(({ isLoaded }) => isLoaded === true).map((tool) => answerFrom(calls, toTool(tool))) ?? [];
	return {
		...options,
		...(prompt !== undefined && { system: prompt }),
		tools: offer(options.tools),
		skillTools: offer(options.skillTools),
		loadTools: () => loaded,
		skillResolver: replaceSkillTools(options.skillResolver, (tool) => answerFrom(calls, tool)),
		providerTools: undefined,
	};
}

const isReplaced = ({ isReplaced = false }: MessageRecord): boolean => isReplaced;

/** Finds the recorded messages from the first message to the next message of a person that began a run. */
function findRecorded(records: readonly MessageRecord[]): readonly MessageRecord[] {
	const replaced = records.filter(isReplaced);
	const runs = new Set(replaced.slice(0, 1).map(({ run }) => run));
	const end = replaced.findIndex(({ run, message, input }) => {
		const isNext = message.role === 'user' && input === true && !runs.has(run);
		runs.add(run);
		return isNext;
	});
	return end === -1 ? replaced : replaced.slice(0, end);
}

/** Lists the calls with their results, in the order of the calls. */
function* listCalls(records: readonly MessageRecord[]) {
	const results = new Map<string, MessageRecord>();
	for (const record of records)
		if (record.message.role === 'tool') results.set(toKey(record.message.toolCallId, record), record);
	for (const record of records) {
		if (record.message.role !== 'assistant') continue;
		for (const { id, name, input } of record.message.toolCalls ?? []) {
			const result = results.get(toKey(id, record));
			if (result !== undefined) yield { tool: providerName(name), input, result };
		}
	}
}

/** The ids of calls are unique only within a turn. */
function toKey(callId: string, { seq }: MessageRecord): string {
	return `${toTurnPlace(seq)} ${callId}`;
}

/** Finds the tools that the model was sent with the first recorded reply. Each message has only what changed. */
function findSentTools(store: SessionStore, message: number, recorded: readonly MessageRecord[]) {
	const own = recorded.find(({ message: { role } }) => role === 'assistant')?.setup?.tools;
	if (own !== undefined) return own;
	for (let to: number | undefined = message; to !== undefined; ) {
		const { records, next }: MessagePage = store.messages.page({ to, isBackward: true, limit: atOnce });
		const tools = records.find(({ setup }) => setup?.tools !== undefined)?.setup?.tools;
		if (tools !== undefined) return tools;
		to = next;
	}
	return undefined;
}

const atOnce = 200;

function toTool({ name, description, inputSchema }: SentTool): Tool {
	return { name, description, inputSchema: isRecord(inputSchema) ? inputSchema : {} };
}

/** Makes a tool with the description of another one, whose calls get recorded results. */
function answerFrom(calls: RecordedCalls<MessageRecord>, tool: Tool): Tool {
	const { name, description, inputSchema, provider, sequential } = tool;
	return {
		...{ name, description, inputSchema, provider, sequential, passInput: true, retry: 'safe' },
		fn: (input: unknown) => {
			const found = calls.take(providerName(name), input);
			if (found !== undefined) return repeatResult(found.result);
			throw new RunletError('invalid_argument', unknownCall);
		},
	};
}

const unknownCall =
	'The recording has no answer to this call. It did not run. Call a tool only with the arguments that you need, or answer without it.';

function repeatResult({ message, haltedReason }: MessageRecord): unknown {
	if (message.role !== 'tool') return undefined;
	const { content, isError, parts: given } = message;
	if (isError === true) throw new RunletError('invalid_argument', String(content));
	if (given !== undefined) return parts(given);
	return haltedReason === undefined ? copyData(content) : halt(haltedReason, copyData(content));
}
