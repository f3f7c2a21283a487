/** What a person said about a run. Times are milliseconds since 1970. */
export interface FeedbackEntry {
	readonly session: string;
	/** Only in the directory named `everybody`. */
	readonly owner?: string;
	readonly agent: string;
	readonly user?: string;
	readonly title?: string;
	/** The number of the run in its session. */
	readonly run: number;
	readonly runId: string;
	readonly rating: FeedbackRating;
	readonly note?: string;
	readonly at: number;
}

export const ratings = ['up', 'down'] as const;

export type FeedbackRating = (typeof ratings)[number];

export interface FeedbackChange extends Omit<FeedbackEntry, 'title' | 'rating' | 'note'> {
	/** Missing if the feedback was removed. */
	readonly rating?: Pick<FeedbackEntry, 'rating' | 'note'>;
}

export interface FeedbackQuery {
	readonly cursor?: string;
	readonly limit: number;
	readonly rating?: FeedbackRating;
	readonly agent?: string;
	readonly user?: string;
}

export interface FeedbackPage {
	readonly entries: FeedbackEntry[];
	/** Missing on the last page. */
	readonly cursor?: string;
}

export function createFeedbackCursor({ at, session, run }: Pick<FeedbackEntry, 'at' | 'session' | 'run'>): string {
	return `${at}.${session}.${run}`;
}
