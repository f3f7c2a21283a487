/** The people of an owner: what they may do, what they spend, their budgets, and how they sign in. */

import { ClientError } from '../../client/index.ts';
import { element, link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import type { Panel, Place } from '../parts/panel.ts';
import { createKeys } from './team/keys.ts';
import { createPart } from './team/part.ts';
import { createPerson } from './team/person.ts';
import { readTeam, type Team } from './team/read.ts';
import { createRoles } from './team/roles.ts';
import { createMeter, createWarnings } from './team/warnings.ts';

export const team: Panel = {
	name: 'team',
	right: 'seeUsers',
	title: 'Team',
	about: 'Who works here, what they may do, and what they spend.',
	async open(root, place) {
		const team = await readTeam(place);
		root.append(
			...createWarnings(team),
			createOwner(team),
			createPeople(team, place),
			createKeys(team, place.viewer),
			createRoles(place.viewer),
			createQueue(place),
		);
	},
};

function createOwner({ owner, today }: Team): HTMLElement {
	return element(
		'div',
		'team-owner',
		element('p', '', element('span', 'about', 'Owner '), element('b', '', owner)),
		createMeter(today, 'Today, all together'),
		element('p', 'about', 'At 50, 80 and 100 % of a budget, SPENDING_CALLBACK gets an alert, if the server has it.'),
	);
}

function createPeople({ people, isCut }: Team, place: Place): HTMLElement {
	const list = element('ul', 'people', ...people.map((person) => createPerson(person, place)));
	const nobody = 'Nobody is named yet. A key with --user, an account or a session with a user names a person.';
	const rest = 'There are more people than these. The API has all: GET /v1/usage?user=NAME.';
	const note = people.length === 0 ? nobody : isCut ? rest : undefined;
	return createPart(
		'People',
		'Everybody with a key, or with a session or spending of late. Days are in UTC.',
		list,
		note === undefined ? undefined : element('p', 'about', note),
	);
}

/** Links the feedback, with the number of bad answers. */
function createQueue({ client, signal, again }: Place): HTMLElement {
	const count = element('p', 'about', 'Reading…');
	client.listFeedback({ rating: 'down', limit: 100, signal }).then(
		({ feedback, cursor }) => {
			const bad = `${feedback.length}${cursor === undefined ? '' : '+'}`;
			count.textContent = feedback.length === 0 ? 'No answer was rated bad.' : `${bad} answers were rated bad.`;
		},
		(error: unknown) => {
			if (error instanceof ClientError) count.replaceChildren(createFailure(error, again));
		},
	);
	return createPart('Feedback', '', count, link('', '#/feedback', 'Open the feedback'));
}
