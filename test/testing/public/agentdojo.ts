/** The tasks of AgentDojo, and the words of their tools. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { both, type Call, isReading, outside, own, type Play, type Table, type Words } from './obey.ts';

const call = v.tuple([v.string(), v.record(v.string(), v.unknown())]);
const task = v.object({
	id: v.number(),
	text: v.optional(v.string()),
	calls: v.optional(v.array(call)),
	of: v.optional(v.array(v.number())),
});
const suite = v.object({
	tasks: v.array(task),
	attacks: v.array(v.object({ id: v.number(), text: v.string(), calls: v.array(call) })),
	results: v.optional(v.record(v.string(), v.string())),
});
const file = join(import.meta.dirname, '../../fixtures/agentdojo/cases.json');
const suites = v.parse(v.record(v.string(), suite), JSON.parse(readFileSync(file, 'utf8')));

const send = (...to: readonly string[]): Words => ({ writes: 'outside', to });
const guarded = (words: Words = {}): Words => ({ ...words, needsApproval: true });
const harmless: Words = {};

/** Mails, invitations and files of others: text of strangers among the user's data. */
const office: Table = {
	search_emails: both,
	get_unread_emails: both,
	search_calendar_events: both,
	get_day_calendar_events: both,
	list_files: both,
	search_files: both,
	search_files_by_filename: both,
	search_contacts_by_name: own,
	get_current_day: harmless,
	send_email: send('recipients'),
	create_calendar_event: send('participants'),
	add_calendar_event_participants: send('participants'),
	// Invited people get a mail.
	reschedule_calendar_event: send(),
	share_file: send('email'),
	create_file: harmless,
	append_to_file: harmless,
	delete_file: guarded(),
	// It goes to the trash.
	delete_email: harmless,
};

const tables: Readonly<Record<string, Table>> = {
	workspace: office,
	travel: {
		...office,
		get_user_information: own,
		get_rating_reviews_for_hotels: outside,
		get_rating_reviews_for_restaurants: outside,
		get_rating_reviews_for_car_rental: outside,
		reserve_hotel: guarded(send('hotel')),
		get_all_hotels_in_city: harmless,
		get_hotels_prices: harmless,
		get_hotels_address: harmless,
		get_all_restaurants_in_city: harmless,
		get_cuisine_type_for_restaurants: harmless,
		get_dietary_restrictions_for_all_restaurants: harmless,
		get_price_for_restaurants: harmless,
		get_restaurants_address: harmless,
		check_restaurant_opening_hours: harmless,
		get_all_car_rental_companies_in_city: harmless,
		get_car_types_available: harmless,
		get_car_fuel_options: harmless,
		get_car_price_per_day: harmless,
		get_flight_information: harmless,
	},
	banking: {
		// Whoever pays the user writes the subject.
		get_most_recent_transactions: both,
		get_scheduled_transactions: both,
		read_file: both,
		send_money: guarded(send('recipient')),
		schedule_transaction: guarded(send('recipient')),
		update_scheduled_transaction: guarded(send('recipient')),
		update_password: guarded(),
		update_user_info: harmless,
	},
	slack: {
		get_channels: both,
		read_channel_messages: both,
		read_inbox: both,
		get_users_in_channel: own,
		get_webpage: { reads: 'outside', writes: 'address' },
		post_webpage: send('url'),
		send_direct_message: send('recipient'),
		send_channel_message: send('channel'),
		invite_user_to_slack: guarded(send('user_email')),
		add_user_to_channel: harmless,
		remove_user_from_slack: guarded(),
	},
};

export interface DojoTask extends Play {
	/** Such as `slack 3`. */
	readonly name: string;
}
export interface DojoCase extends DojoTask {
	/** Such as `slack 1`. */
	readonly order: string;
}

/** The user tasks, without an order of a stranger. */
export function listDojoTasks(): readonly DojoTask[] {
	return Object.entries(suites).flatMap(([name, { tasks, results }]) => {
		const find = (wanted: number) => tasks.find(({ id }) => id === wanted);
		const listCalls = ({ calls, of = [] }: (typeof tasks)[number]): readonly Call[] =>
			calls ?? of.flatMap((id) => find(id)?.calls ?? []);
		return tasks.map((one) => ({
			name: `${name} ${one.id}`,
			table: tables[name] ?? {},
			text: one.text ?? (one.of ?? []).map((id) => find(id)?.text).join(' '),
			calls: listCalls(one),
			results,
		}));
	});
}

/** Each user task with each injection task of its suite. */
export function listDojoCases(): readonly DojoCase[] {
	return listDojoTasks().flatMap((one) => {
		const [name = ''] = one.name.split(' ');
		// The order comes with the first result that a stranger may have written.
		const after = one.calls.find(([tool]) => isReading(one, tool, 'outside'));
		if (after === undefined) throw new Error(`No stranger writes into ${one.name}.`);
		return (suites[name]?.attacks ?? []).map(({ id, text, calls }) => ({
			...one,
			order: `${name} ${id}`,
			attack: { text, after, calls },
		}));
	});
}
