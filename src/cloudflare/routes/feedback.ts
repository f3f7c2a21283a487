import { readConfig } from '../config/config.ts';
import { mergeEntries } from '../objects/directory/all.ts';
import { createFeedbackCursor } from '../objects/directory/feedback.ts';
import { rateRun, unrateRun } from '../wire/endpoints/messages.ts';
import { listFeedback } from '../wire/endpoints/sessions.ts';
import { getOwner } from './identity.ts';
import { mount } from './request.ts';
import { askSessionInPath, findCaller } from './respond.ts';
import { findListedOwners } from './session-list.ts';

/** `/v1/feedback` and `…/runs/:runId/feedback`: what people say about answers (docs/sessions.md, "Feedback"). */
export const feedbackRoutes = [
	mount(rateRun, async (c) => {
		const rating = c.req.valid('json');
		return Response.json(
			await askSessionInPath(c, (one) => one.rate(findCaller(c), c.req.param('runId'), rating), true),
		);
	}),
	mount(unrateRun, async (c) => {
		await askSessionInPath(c, (one) => one.rate(findCaller(c), c.req.param('runId')), true);
		return c.body(null, 204);
	}),
	mount(listFeedback, async (c) => {
		const { owner: requested, ...page } = c.req.valid('query');
		const owners = requested === undefined ? [getOwner(c)] : await findListedOwners(c, requested);
		const { entries, next } = await mergeEntries(readConfig(c.env), owners, {
			...page,
			ask: (directory) => directory.listFeedback(page),
			compare: (a, b) => b.at - a.at || (a.session === b.session ? b.run - a.run : a.session < b.session ? 1 : -1),
		});
		const feedback = entries.map(({ session: sessionId, run: _, at, owner, ...entry }) => {
			const shown = { sessionId, ...entry, createdAt: new Date(at).toISOString() };
			return requested === undefined ? shown : { ...shown, owner };
		});
		return c.json({ feedback, cursor: next && createFeedbackCursor(next) });
	}),
];
