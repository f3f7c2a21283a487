import { createIdempotencyKey, type Http, type SignalOption, toQuery } from './http.ts';
import type { Feedback, FeedbackBody, FeedbackPage, FeedbackQuery, NewSession, RerunBody } from './types.ts';

export type FeedbackClient = ReturnType<typeof createFeedbackClient>;

/** Creates the methods that judge answers: ratings, and reruns with another model or prompt. */
export function createFeedbackClient(http: Http) {
	return {
		/** Says what a person thinks of the answer of a run. Replaces what was said before. */
		rateRun(id: string, runId: string, body: FeedbackBody, { signal }: SignalOption = {}): Promise<Feedback> {
			return http.json(toPath(id, runId), { method: 'PUT', body, signal });
		},

		/** Removes the rating of a run. */
		unrateRun: (id: string, runId: string, { signal }: SignalOption = {}): Promise<void> =>
			http.remove(toPath(id, runId), signal),

		/** Runs a message again with another model or prompt, in a branch in which no call runs. Needs an API key. */
		rerun(id: string, body: RerunBody, { signal }: SignalOption = {}): Promise<NewSession> {
			const path = `/v1/sessions/${encodeURIComponent(id)}/rerun`;
			return http.json(path, { method: 'POST', headers: createIdempotencyKey(), body, signal });
		},

		/** Lists what people said about answers in all the owner's sessions, the newest first, by page. Needs an API key. */
		listFeedback({ signal, ...query }: SignalOption & FeedbackQuery = {}): Promise<FeedbackPage> {
			return http.json(`/v1/feedback${toQuery(query)}`, { signal });
		},
	};
}

function toPath(id: string, runId: string): string {
	return `/v1/sessions/${encodeURIComponent(id)}/runs/${encodeURIComponent(runId)}/feedback`;
}
