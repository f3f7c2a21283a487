/** The thumbs under the answers of a session, and the notes about bad answers. */

import type { Feedback, FeedbackBody, FeedbackClient } from '../../client/index.ts';
import { say } from '../../client/say.ts';
import { button, configure, element, onSubmit } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { createThumb } from '../parts/icon.ts';
import type { Visit } from '../parts/live.ts';

/** The maximum number of characters of a note. */
const longestNote = 2_000;

export type Ratings = ReturnType<typeof createRatings>;

/** Keeps the feedback of the open session by run, and makes the thumbs for a run. */
export function createRatings(client: FeedbackClient) {
	const known = new Map<string, Feedback>();
	let visit: Visit | undefined;

	return {
		/** From now on, thumbs rate runs of this session. Without a session, there are no thumbs. */
		use(next: Visit | undefined): void {
			visit = next;
			known.clear();
		},
		note(runId: string | undefined, feedback: Feedback | undefined): void {
			if (runId !== undefined && feedback !== undefined) known.set(runId, feedback);
		},
		create(runId: string): HTMLElement | undefined {
			if (visit === undefined) return undefined;
			const { id, signal } = visit;
			return createRating(known.get(runId), async (body) => {
				if (body === undefined) await client.unrateRun(id, runId, { signal });
				else known.set(runId, await client.rateRun(id, runId, body, { signal }));
				if (body === undefined) known.delete(runId);
			});
		},
	};
}

/** Makes two thumbs. The pressed thumb is the rating; pressing it again removes the rating. */
function createRating(
	given: Pick<Feedback, 'rating' | 'note'> | undefined,
	send: (body: FeedbackBody | undefined) => Promise<void>,
): HTMLElement {
	let rated = given;
	let sending = Promise.resolve();
	const place = element('div');
	const failure = element('div');
	const [up, down] = [toButton('up', say('Good answer')), toButton('down', say('Bad answer'))];
	const thumbs = configure(element('div', 'thumbs', up, down), { role: 'group', ariaLabel: say('Rate this answer') });

	function toButton(rating: 'up' | 'down', label: string): HTMLButtonElement {
		const thumb = button('thumb-button', '', () => rate(rated?.rating === rating ? undefined : { rating }));
		thumb.append(createThumb(rating));
		return configure(thumb, { ariaLabel: label, title: label });
	}

	function show(): void {
		up.ariaPressed = `${rated?.rating === 'up'}`;
		down.ariaPressed = `${rated?.rating === 'down'}`;
		place.replaceChildren(...(rated?.note === undefined ? [] : [element('blockquote', 'note', rated.note)]));
	}

	function rate(body: FeedbackBody | undefined): void {
		const before = rated;
		rated = body;
		show();
		failure.replaceChildren();
		if (body?.rating === 'down' && body.note === undefined) askNote();
		// A later rating is sent after the earlier ones.
		sending = sending
			.then(() => send(body))
			.catch((error: unknown) => {
				rated = before;
				show();
				failure.replaceChildren(createFailure(error, () => rate(body)));
			});
	}

	/** Asks what is wrong. The rating is stored already, so the note may be left out. */
	function askNote(): void {
		const text = configure(element('textarea'), {
			rows: 2,
			maxLength: longestNote,
			ariaLabel: say('What is wrong?'),
		});
		text.placeholder = say('What is wrong? (optional)');
		const leave = (): void => {
			show();
			down.focus();
		};
		const buttons = element(
			'div',
			'form-end',
			element('button', 'primary', say('Send note')),
			button('', say('No note'), leave),
		);
		const form = element('form', 'note-form', text, buttons);
		onSubmit(form, () => {
			const note = text.value.trim();
			if (note !== '') rate({ rating: 'down', note });
			leave();
		});
		form.addEventListener('keydown', ({ key }) => {
			if (key === 'Escape') leave();
		});
		place.replaceChildren(form);
		text.focus();
	}

	show();
	return element('div', 'rating', thumbs, place, failure);
}
