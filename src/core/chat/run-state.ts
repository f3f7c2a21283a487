import type { Tool, ToolCall, ToolResult } from '../tool/index.ts';
import type { TurnReaders } from './ask-model.ts';
import { type Conversation, findWindow } from './conversation.ts';
import { type Emit, isSideEvent, type SideEvent, type Step } from './event.ts';
import type { Message } from './message.ts';
import { isReferring, restoreReferences } from './old-results.ts';
import type { ChatOptions, MessageContext } from './options.ts';
import type { PromptRecord } from './prompt-record.ts';
import type { RecalledFronts } from './recall.ts';
import type { TurnReply } from './streamed-reply.ts';
import { addUsage, type ChatUsage } from './usage.ts';

export interface LoopContext {
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly emit: Emit;
	readonly resume?: Resumption;
}

export interface RunState {
	readonly conversation: Conversation;
	readonly emit: Emit;
	/** Lists the notes and warnings since the last message that is not a summary. A restarted turn shows them again. */
	readonly listNotes: () => Iterable<SideEvent>;
	/** The index after the message that the run answers. */
	readonly answersAt: number;
	readonly steps: Step[];
	/** The newest model turn when the run was continued. */
	readonly resumedAt?: LastTurn;
	recalling?: Promise<RecalledFronts | undefined>;
	/** The number of completed model turns. */
	iteration: number;
	usage: ChatUsage;
	/** The newest request of the conversation. */
	prompt?: PromptRecord;
	last?: LastTurn;
	/** The turn whose calls come next. */
	begun?: BegunTurn;
	tools?: readonly Tool[];
}

export function createState(options: ChatOptions, input: readonly Message[], { emit, resume }: LoopContext): RunState {
	const messages = [...input];
	const window = findWindow(messages);
	const storeNext = createOrderedStore(options.onMessage);
	let unstored: SideEvent[] = [];
	let notes = new Set<SideEvent>();
	const run: RunState = {
		conversation: {
			messages,
			window,
			references: isReferring(options) ? restoreReferences({ messages, window }, options.lastPrompt) : undefined,
			store: (message, about = {}) => {
				const before = unstored;
				unstored = [];
				if (about.inFrontOf === undefined) notes = new Set();
				return storeNext(message, { ...about, before });
			},
			spend: (more) => {
				run.usage = addUsage(run.usage, more);
			},
		},
		emit: (event) => {
			if (isSideEvent(event) && !notes.has(event)) {
				unstored.push(event);
				notes.add(event);
			}
			return emit(event);
		},
		listNotes: () => notes,
		answersAt: 1 + messages.findLastIndex(({ role }) => role === 'user'),
		steps: [],
		resumedAt: resume?.last,
		iteration: resume?.iteration ?? 0,
		usage: resume?.usage ?? {},
		last: resume?.last,
		prompt: options.lastPrompt,
		begun: resume?.turn,
	};
	return run;
}

export function createReaders({ emit, iteration, listNotes }: RunState, { onRestart }: ChatOptions): TurnReaders {
	return {
		emit,
		isShown: false,
		restart: async () => {
			const repeated = [...listNotes()];
			await onRestart?.(iteration, repeated);
			await emit({ type: 'turn.restarted', iteration });
			for (const event of repeated) await emit(event);
		},
	};
}

/** Stores messages in sequence, even if several tools finish together. */
function createOrderedStore(
	onMessage: ChatOptions['onMessage'] = () => {},
): (message: Message, about: MessageContext) => Promise<void> {
	let storing = Promise.resolve();
	return (message, about) => {
		storing = storing.then(() => onMessage(message, about));
		return storing;
	};
}

/** The state of an interrupted run besides its messages. */
export interface Resumption {
	/** The number of completed model turns. */
	readonly iteration: number;
	readonly usage: ChatUsage;
	readonly last?: LastTurn;
	/** The unfinished turn. Missing if the run continues with the model. */
	readonly turn?: BegunTurn;
}

type LastTurn = Pick<TurnReply, 'model' | 'text' | 'stopReason' | 'usage' | 'providerCalls' | 'sources'> &
	Pick<Step, 'cacheMiss'>;

/** A model turn with open calls. */
export interface BegunTurn {
	readonly calls: readonly ToolCall[];
	readonly results: readonly ToolResult[];
	/** The reason if a result stops the run. */
	readonly haltedReason?: string;
}
