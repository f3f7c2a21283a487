import type { FlowReason } from '../../../core/chat/flow.ts';
import type { Label } from '../../../core/tool/index.ts';
import type { Amount } from '../budget.ts';

/** Times are milliseconds since 1970. */
export interface Wait {
	readonly since: number;
	readonly calls: readonly WaitedCall[];
}

/** What a call waits for: a person's permission, the answer to a question, or a result. */
export const waitKinds = ['approval', 'question', 'result'] as const;

export type WaitKind = (typeof waitKinds)[number];

export interface WaitedCall {
	readonly callId: string;
	readonly kind: WaitKind;
	/** The position among the calls of the run. It stays the same when other calls are answered. */
	readonly place: number;
	readonly tool?: string;
	/** Missing if the arguments are too long. */
	readonly input?: unknown;
	/** The start of the arguments as JSON, if they are too long. */
	readonly inputStart?: string;
	readonly question?: string;
	/** Whether the question is cut, or its options or the preview are too long. */
	readonly isCut?: true;
	readonly options?: Readonly<Record<string, unknown>>;
	/** Why the call needs permission, if it would send something out. */
	readonly flow?: FlowReason;
	/** What the call would do. */
	readonly preview?: string;
	/** What had flowed into the session, and its cost, when it began to wait. */
	readonly labels?: readonly Label[];
	readonly spent?: Amount;
}

export interface WaitingEntry extends WaitedCall {
	readonly session: string;
	/** Only in the directory named `everybody`. */
	readonly owner?: string;
	readonly agent: string;
	readonly user?: string;
	readonly title?: string;
	readonly since: number;
}

export interface WaitingQuery {
	readonly cursor?: string;
	readonly limit: number;
	readonly kind?: WaitKind;
	readonly agent?: string;
	readonly user?: string;
}

export function createWaitingCursor({ since, session, place }: WaitingEntry): string {
	return `${since}.${session}.${place}`;
}

export interface WaitingPage {
	readonly entries: WaitingEntry[];
	/** Missing on the last page. */
	readonly cursor?: string;
}
