/** What people said about answers in all sessions. Each entry can become a test. */

import type { ListedFeedback } from '../../client/index.ts';
import { toSessionAddress } from '../parts/address.ts';
import { configure, element, link } from '../parts/element.ts';
import { createAction } from '../parts/form.ts';
import { createThumb } from '../parts/icon.ts';
import { createPages, type Panel, type Place } from '../parts/panel.ts';
import { saveTest } from '../parts/save-test.ts';
import { createAge } from '../parts/time.ts';

const pageLength = 50;

export const feedback: Panel = {
	name: 'feedback',
	right: 'seeInbox',
	title: 'Feedback',
	about: 'What people said about answers in all sessions, the newest first.',
	async open(root, place) {
		const list = element('ul', 'cards');
		const shown = configure(element('select'), { ariaLabel: 'Ratings that are shown' });
		for (const [value, words] of [
			['', 'All ratings'],
			['down', 'Bad answers'],
			['up', 'Good answers'],
		] as const)
			shown.append(configure(element('option', '', words), { value }));
		const readRating = () => (shown.value === 'up' || shown.value === 'down' ? shown.value : undefined);
		const pages = createPages(
			place,
			(cursor) => place.client.listFeedback({ rating: readRating(), limit: pageLength, cursor, signal: place.signal }),
			(page, isFirst) => {
				if (isFirst) list.replaceChildren();
				list.append(...page.feedback.map((entry) => createEntry(entry, place)));
			},
		);
		shown.addEventListener('change', pages.reload);
		await pages.load();
		const nothing = element('p', 'nothing', 'Nobody has rated an answer yet.');
		root.append(element('div', 'tools', shown), nothing, list, pages.more, pages.failures);
	},
};

function createEntry(entry: ListedFeedback, { client, signal }: Place): HTMLElement {
	const { sessionId, agent, user, title = 'A session without a title', rating, note, createdAt } = entry;
	const words = element('span', 'visually-hidden', rating === 'up' ? 'Good answer: ' : 'Bad answer: ');
	const name = link('title', toSessionAddress(sessionId), title);
	const by = user === undefined ? agent : `${agent} · ${user}`;
	const head = element(
		'p',
		'card-head',
		createThumb(rating),
		words,
		name,
		element('span', 'about', by),
		createAge(createdAt),
	);
	const saved = configure(element('div'), { role: 'status' });
	const action = createAction('Save as test', title, async () => {
		saved.replaceChildren(await saveTest(client, { id: sessionId, signal }));
	});
	const said = note === undefined ? undefined : element('blockquote', 'note', note);
	return element('li', 'card', head, said, action, saved);
}
