import type { Tool } from '../tool/index.ts';
import type { TurnReaders } from './ask-model.ts';
import { type Conversation, findWindow } from './conversation.ts';
import { type Emit, isSideEvent, type SideEvent, type Step } from './event.ts';
import type { Message } from './message.ts';
import type { ChatOptions, MessageContext } from './options.ts';
import type { BegunTurn, LastTurn, Resumption } from './resumption.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** What the loop is told beside its options. */
export interface LoopContext {
	readonly stream: boolean;
	readonly signal: AbortSignal;
	readonly emit: Emit;
	readonly resume?: Resumption;
}

/** Where a run stands. The loop changes it as it goes on. */
export interface RunState {
	readonly conversation: Conversation;
	readonly emit: Emit;
	/** Notes and warnings since the last message that is no summary: a turn that is asked again shows them again. */
	readonly listNotes: () => readonly SideEvent[];
	/** The place behind the message that is answered. */
	readonly answersAt: number;
	readonly steps: Step[];
	/** The model's newest turn when the run was taken up. */
	readonly resumedAt?: LastTurn;
	/** Turns that the model has had. */
	iteration: number;
	usage: ChatUsage;
	/** The model's newest turn. */
	last?: LastTurn;
	/** The turn whose calls come next. */
	begun?: BegunTurn;
	/** The tools of the newest turn. */
	tools?: readonly Tool[];
}

/** The state that a run begins with, or is taken up with. */
export function createState(options: ChatOptions, input: readonly Message[], { emit, resume }: LoopContext): RunState {
	const messages = [...input];
	const storeNext = createOrderedStore(options.onMessage);
	let unstored: SideEvent[] = [];
	let notes: SideEvent[] = [];
	const run: RunState = {
		conversation: {
			messages,
			window: findWindow(messages),
			store: (message, about = {}) => {
				const before = unstored;
				unstored = [];
				if (about.inFrontOf === undefined) notes = [];
				return storeNext(message, { ...about, before });
			},
			spend: (more) => {
				run.usage = addUsage(run.usage, more);
			},
		},
		emit: (event) => {
			if (isSideEvent(event) && !notes.includes(event)) {
				unstored.push(event);
				notes.push(event);
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
		begun: resume?.turn,
	};
	return run;
}

/** How the turn that comes now reaches the run's readers. */
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

/** Stores messages one after another, also those of tools that finish together. */
function createOrderedStore(
	onMessage: ChatOptions['onMessage'] = () => {},
): (message: Message, about: MessageContext) => Promise<void> {
	let storing = Promise.resolve();
	return (message, about) => {
		storing = storing.then(() => onMessage(message, about));
		return storing;
	};
}
