/** What a session waits for. Times are milliseconds since 1970. */
export interface Wait {
	/** When its run began to wait. */
	readonly since: number;
	/** At least one. */
	readonly calls: readonly WaitedCall[];
}

/** What a waiting call waits for: a person's permission, the answer to its question, or its result. */
export const waitKinds = ['approval', 'question', 'result'] as const;

export type WaitKind = (typeof waitKinds)[number];

/** A call that waits for somebody. */
export interface WaitedCall {
	readonly callId: string;
	readonly kind: WaitKind;
	/** Its place among the calls that the run asked about. It stays while others are answered. */
	readonly place: number;
	readonly tool?: string;
	/** Its exact arguments, unless they are too long. */
	readonly input?: unknown;
	/** The beginning of the JSON of arguments that are too long. */
	readonly inputStart?: string;
	readonly question?: string;
	/** Whether the question is longer than this, or has options that are too long. */
	readonly isCut?: true;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** A waiting call of one of an owner's sessions. */
export interface WaitingEntry extends WaitedCall {
	readonly session: string;
	readonly agent: string;
	/** The user of the session. */
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

/** Makes the cursor that stands behind a waiting call. */
export function createWaitingCursor({ since, session, place }: WaitingEntry): string {
	return `${since}.${session}.${place}`;
}

export interface WaitingPage {
	readonly entries: WaitingEntry[];
	/** Where the next page begins; missing after the last. */
	readonly cursor?: string;
}
