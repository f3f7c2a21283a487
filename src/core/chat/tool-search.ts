import * as v from 'valibot';
import { stem } from '../base/text.ts';
import { filterAvailable } from '../tool/call.ts';
import { define } from '../tool/define.ts';
import type { Tool, ToolCall } from '../tool/index.ts';

/** The default for the most tools of a request. With more tools the model searches. */
export const mostSent = 40;

/** Tools that one search gives. */
const mostFound = 10;

/** The name of the tool that finds tools. */
export const searchName = 'search_tools';
const foundTools = v.object({ tools: v.array(v.object({ name: v.string() })) });

/** Makes the tool `search_tools`, which finds tools of a run by words. What it finds is sent from the next turn on. */
export function createToolSearch(tools: readonly Tool[]): Tool {
	return define({
		name: searchName,
		// The number of tools would change the prompt, so it is left out.
		description:
			'Find further tools by words of their names and descriptions. Those that are found can be called from the next turn on.',
		inputSchema: v.object({ query: v.pipe(v.string(), v.minLength(1), v.description('Words, such as send email')) }),
		passInput: true,
		retry: 'safe',
		onRequest: ({ query }) => ['Searching tools', query],
		fn: async ({ query }, context) => {
			const found = await filterAvailable(rankTools(tools, query), context);
			const shown = found.slice(0, mostFound).map(({ name, description = '' }) => ({ name, description }));
			if (shown.length > 0) return { tools: shown };
			return { tools: [], note: 'No tool has one of these words. Search by other ones.' };
		},
	});
}

/** English stop words. */
const empty = new Set(
	`a about all an and any are as at be by can do for from has have how i in into is it its me my of on or our please that
	the their then this to up us was we what when where which with you your`.split(/\s+/),
);

/** Shorter words of the query are found only as whole words. */
const shortestPart = 4;

/**
 * Ranks the tools that have a word of the query, the best first. A word counts more in a name than in a description.
 * Words are compared by their stems, and words of at least four letters are also found inside other words.
 */
function rankTools(tools: readonly Tool[], query: string): readonly Tool[] {
	const asked = splitWords(query);
	const telling = asked.filter((word) => !empty.has(word));
	const words = new Set(telling.length > 0 ? telling : asked);
	const score = ({ name, description = '' }: Tool): number => {
		const [inName, inDescription] = [createTest(name), createTest(description)];
		let sum = 0;
		for (const word of words) sum += (inName(word) ? 3 : 0) + (inDescription(word) ? 1 : 0);
		return sum;
	};
	const ranked = tools.map((tool) => ({ tool, score: score(tool) })).filter((one) => one.score > 0);
	return ranked.toSorted((one, other) => other.score - one.score).map(({ tool }) => tool);
}

/** The words of a text in lower case. `sendEmail` and `send_email` are two. */
function splitWords(text: string): readonly string[] {
	const apart = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
	return apart.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** Returns a test whether a text has a word. */
function createTest(text: string): (word: string) => boolean {
	const stems = new Set(splitWords(text).map(stem));
	const lower = text.toLowerCase();
	// Scripts without spaces between words have short ones.
	const isPart = (word: string): boolean => word.length >= shortestPart || /[^\p{Script=Latin}\p{N}]/u.test(word);
	return (word) => stems.has(stem(word)) || (isPart(word) && lower.includes(word));
}

/** Lists the tools that a call reveals: the results of a search, or the called tool. */
export function listKnownTools({ name }: ToolCall, result: unknown): readonly string[] {
	if (name !== searchName) return [name];
	return v.is(foundTools, result) ? result.tools.map((tool) => tool.name) : [];
}
