/** A person of the team: their role, what they spend, their newest sessions, and their budget. */

import type { ListedSession } from '../../../client/index.ts';
import { describeMoney } from '../../../client/words.ts';
import { toSessionAddress } from '../../parts/address.ts';
import { configure, element, link } from '../../parts/element.ts';
import { createFailure } from '../../parts/failure.ts';
import { createField, createForm, createTextField } from '../../parts/form.ts';
import type { Place } from '../../parts/panel.ts';
import { createAge } from '../../parts/time.ts';
import { days, type Person } from './read.ts';
import { createMeter } from './warnings.ts';

/** The number of sessions that are listed of a person. */
const newest = 5;

export function createPerson(person: Person, place: Place): HTMLElement {
	const { name, keys, spent, budget } = person;
	const roles = [...new Set(keys.map(({ role }) => role))].join(', ');
	const face = configure(element('span', 'face', name.charAt(0).toUpperCase()), { ariaHidden: 'true' });
	const words = element(
		'span',
		'who-about',
		element('b', '', name),
		element('span', 'about', roles || describeUse(person)),
	);
	const money = element('span', 'about cost', `${describeMoney(spent)} in ${days} days`);
	const details = element(
		'details',
		'',
		element('summary', '', face, words, createMeter(budget.daily, 'Today'), money),
	);
	details.addEventListener(
		'toggle',
		() => {
			details.append(createDetails(person, place));
		},
		{ once: true },
	);
	const entry = element('li', '', details);
	entry.dataset.user = name;
	return entry;
}

function describeUse({ sessions }: Person): string {
	return sessions === 0 ? 'no session of late' : sessions === 1 ? '1 session of late' : `${sessions} sessions of late`;
}

function createDetails(person: Person, place: Place): HTMLElement {
	const sessions = element('ul', 'names');
	const { client, signal } = place;
	client.listSessions({ user: person.name, limit: newest, signal }).then(
		(page) => sessions.replaceChildren(...showSessions(page.sessions)),
		(error: unknown) => {
			if (!signal.aborted) sessions.replaceChildren(createFailure(error, place.again));
		},
	);
	const total = person.budget.caps.total === undefined ? undefined : createMeter(person.budget.total, 'In all');
	const form = place.viewer.may('manageUsers') ? createBudget(person, place) : undefined;
	return element(
		'div',
		'person-details',
		element('div', '', element('h4', '', 'Newest sessions'), sessions),
		form,
		total,
	);
}

function showSessions(sessions: readonly ListedSession[]): HTMLElement[] {
	if (sessions.length === 0) return [element('li', 'about', 'None.')];
	return sessions.map(({ id, title = 'No message yet', lastActivityAt }) =>
		element('li', '', link('title', toSessionAddress(id), title), ' ', createAge(lastActivityAt)),
	);
}

/** Makes the form for the budget of a person. An empty field is no cap. */
function createBudget({ name, budget: { caps } }: Person, { client, signal, again }: Place): HTMLElement {
	const day = createAmount(caps.daily?.usd);
	const tokens = createAmount(caps.daily?.tokens);
	const total = createAmount(caps.total?.usd);
	const fields = [
		createField('Dollars a day', day),
		createField('Tokens a day', tokens),
		createField('Dollars in all', total),
	];
	const form = createForm('Save budget', [element('div', 'amounts', ...fields)], async () => {
		const daily = toCap({ usd: day.value, tokens: tokens.value });
		const all = toCap({ usd: total.value, tokens: `${caps.total?.tokens ?? ''}` });
		await client.setUserBudget(name, { ...(daily && { daily }), ...(all && { total: all }) }, { signal });
		again();
	});
	form.ariaLabel = `Budget of ${name}`;
	return form;
}

function createAmount(value: number | undefined): HTMLInputElement {
	return configure(createTextField(`${value ?? ''}`, 'no cap'), { type: 'number', min: '0', step: 'any' });
}

function toCap(fields: { readonly usd: string; readonly tokens: string }) {
	const given = Object.entries(fields).flatMap(([unit, text]) => (text === '' ? [] : [[unit, Number(text)]]));
	return given.length === 0 ? undefined : Object.fromEntries(given);
}
