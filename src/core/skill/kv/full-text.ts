import MiniSearch, { type AsPlainObject, type Options } from 'minisearch';
import * as v from 'valibot';
import type { Searched } from '../search.ts';

/** A name and how well it fits: more is better. */
export type Scored = readonly [name: string, score: number];

/** Finds names by a text, best first, by BM25 over name, description and `when`; word forms and slips of the pen match, too. */
export type FullText = (query: string, isServed: (name: string) => boolean) => Scored[];

/** Words that say nothing about what a skill is for; those of skills' descriptions in general are among them. */
const empty = new Set(
	`a about after all am an and any are as asked asks at be been before by can could do does doing for from get had has
	have how i if in into is it its let make me my need needs new of on onto or our out over please should so some such
	task than that the their them then there these they this those to up us use used user users using want wants was way
	we what when where whether which while who why will with working would you your`.split(/\s+/),
);

/** An English word without its ending: `testing`, `tests` and `tested` are `test`. Rough; both sides are made by it. */
function stem(word: string): string {
	if (word.length < 5) return word.length === 4 && /[^s]s$/.test(word) ? word.slice(0, -1) : word;
	const bare = word
		.replace(/(?:ies|ied)$/, 'y')
		.replace(/(?<=[^s])s$/, '')
		.replace(/(?<=.{3})(?:ations?|ings?|ers?|ed|ion|ment|ly)$/, '')
		.replace(/e$/, '');
	const isDoubled = bare.at(-1) === bare.at(-2) && /[^aeiouls]$/.test(bare);
	const stemmed = isDoubled ? bare.slice(0, -1) : bare;
	return stemmed.length < 3 ? word : stemmed;
}

const options: Options<Searched> = {
	idField: 'name',
	fields: ['title', 'description', 'when'],
	extractField: (skill, field) => {
		if (field === 'when') return skill.when?.join('\n') ?? '';
		return field === 'description' ? skill.description : skill.name;
	},
	processTerm: (term) => {
		const word = term.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '');
		return word.length < 2 || empty.has(word) ? null : stem(word);
	},
	searchOptions: {
		boost: { title: 2, when: 2 },
		prefix: (term) => term.length > 3,
		fuzzy: (term) => (term.length > 5 ? 0.15 : false),
		weights: { prefix: 0.4, fuzzy: 0.2 },
	},
};

/** The search index of some skills as JSON text: made when they are published, read by `readFullText`. */
export function writeFullText(skills: readonly Searched[]): string {
	const index = new MiniSearch(options);
	index.addAll(skills);
	return JSON.stringify(index);
}

const plainIndex = v.custom<AsPlainObject>((value) => v.is(v.looseObject({ serializationVersion: v.number() }), value));

/** A search index out of the JSON value that `writeFullText` made. Throws for anything else. */
export function readFullText(json: unknown): FullText {
	const index = MiniSearch.loadJS(v.parse(plainIndex, json), options);
	return (query, isServed) =>
		index.search(query, { filter: ({ id }) => isServed(String(id)) }).map(({ id, score }) => [String(id), score]);
}
