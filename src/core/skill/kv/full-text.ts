import MiniSearch, { type AsPlainObject, type Options } from 'minisearch';
import * as v from 'valibot';
import { stem } from '../../ground/text.ts';
import type { Searched } from '../search.ts';

/** A name with its score. Higher is better. */
export type Scored = readonly [name: string, score: number];

/**
 * Finds names by a text, the best first: BM25 over name, description and `when`. Word forms and small typing mistakes
 * match too.
 */
export type FullText = (query: string, isServed: (name: string) => boolean) => Scored[];

/** Words that say nothing about a skill, including common words of descriptions. */
const empty = new Set(
	`a about after all am an and any are as asked asks at be been before by can could do does doing for from get had has
	have how i if in into is it its let make me my need needs new of on onto or our out over please should so some such
	task than that the their them then there these they this those to up us use used user users using want wants was way
	we what when where whether which while who why will with working would you your`.split(/\s+/),
);

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

/** Writes the search index of skills as JSON. Publishing calls it; `readFullText` reads the result. */
export function writeFullText(skills: readonly Searched[]): string {
	const index = new MiniSearch(options);
	index.addAll(skills);
	return JSON.stringify(index);
}

const plainIndex = v.custom<AsPlainObject>((value) => v.is(v.looseObject({ serializationVersion: v.number() }), value));

/** Reads the JSON value that `writeFullText` made. Throws for anything else. */
export function readFullText(json: unknown): FullText {
	const index = MiniSearch.loadJS(v.parse(plainIndex, json), options);
	return (query, isServed) =>
		index.search(query, { filter: ({ id }) => isServed(String(id)) }).map(({ id, score }) => [String(id), score]);
}
