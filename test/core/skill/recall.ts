import { demoEmbedding } from '../../../src/core/providers/demo.ts';
import {
	readFullText,
	readVectors,
	toBytes,
	toEmbeddedText,
	toSearchDocument,
} from '../../../src/core/skill/kv/search.ts';
import { fromMarkdown } from '../../../src/core/skill/markdown.ts';
import { scoreSkills, searchSkillsOf } from '../../../src/core/skill/resolver.ts';
import { corpus } from './corpus.ts';
import { queries } from './queries.ts';

const skills = [
	...new Map(corpus.map(({ text, directory }) => [directory, fromMarkdown(text, { directory })])).values(),
];
const names = skills.map(({ name }) => name);
const everything = () => true;

const fullText = readFullText(toSearchDocument(skills));
const rows = skills.map((skill) => toBytes(demoEmbedding(toEmbeddedText(skill))));
const values = btoa(rows.flatMap((row) => [...row].map((byte) => String.fromCharCode(byte & 255))).join(''));
const byVector = readVectors({ model: 'demo', names, texts: names, values });

/** The ways of searching. Each returns names, the best first. */
const ways: Readonly<Record<string, (query: string) => string[]>> = {
	substring: (query) => searchSkillsOf(skills, query).map(({ name }) => name),
	'substring of each word': (query) => byWords(query),
	'full text': (query) => fullText(query, everything).map(([name]) => name),
	'demo embedding': (query) => byVector(demoEmbedding(query), everything).map(([name]) => name),
};

/** Ranks skills by the added scores of the words of a query. No search by substrings can do better. */
function byWords(query: string): string[] {
	const scores = new Map<string, number>();
	for (const word of new Set(query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu))) {
		for (const { skill, score } of scoreSkills(skills, word))
			scores.set(skill.name, (scores.get(skill.name) ?? 0) + score);
	}
	return [...scores].sort(([, a], [, b]) => b - a).map(([name]) => name);
}

/** The share of the fifty queries with a fitting skill among the first five results, for each way of searching. */
export const recallAt5: Readonly<Record<string, number>> = Object.fromEntries(
	Object.entries(ways).map(([way, find]) => [
		way,
		queries.filter(([query, ...wanted]) =>
			find(query)
				.slice(0, 5)
				.some((name) => wanted.includes(name)),
		).length / queries.length,
	]),
);

/** Names in the queries that no skill of the corpus has. */
export const unknown: readonly string[] = queries.flatMap(([, ...wanted]) =>
	wanted.filter((name) => !names.includes(name)),
);
