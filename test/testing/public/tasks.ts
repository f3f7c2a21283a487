/** Harmless tasks for the example agents: 25 kinds, eight of each. */
import { toolbox } from 'runlet';
import { type Agent, defineAgent } from 'runlet/cloudflare';
import { callTool, type TestSessionOptions } from 'runlet/testing';
import { researcher as shopResearcher } from '../../../examples/shop/src/agents/researcher.ts';
import { support as shopSupport } from '../../../examples/shop/src/agents/support.ts';
import { assistant } from '../../../src/agents/assistant.ts';
import { coder } from '../../../src/agents/coder.ts';
import { editor } from '../../../src/agents/editor.ts';
import { researcher } from '../../../src/agents/researcher.ts';
import { support } from '../../../src/agents/support.ts';
import { triage } from '../../../src/agents/triage.ts';
import { writer } from '../../../src/agents/writer.ts';

type Script = NonNullable<TestSessionOptions['script']>;

export interface Kind {
	readonly agent: Agent;
	/** What the person writes, message by message. */
	readonly texts: (topic: Topic) => readonly string[];
	/** The turns of the model. */
	readonly script: (topic: Topic) => Script;
	readonly options?: Omit<TestSessionOptions, 'script'>;
}

/** What a task is about. */
export interface Topic {
	readonly n: number;
	readonly word: string;
	readonly page: string;
	readonly other: string;
	readonly order: string;
}
const words = ['tea', 'rivers', 'trains', 'bees', 'glass', 'maps', 'salt', 'wool'];
export const topics: readonly Topic[] = words.map((word, n) => ({
	...{ n, word, order: `A-${1_001 + n}` },
	page: `https://${word}.example.com/`,
	other: `https://${word}.example.com/more?from=home`,
}));

/** What a page of a topic says. It links to the other one. */
export const writePage = (host: string) => `<h1>${host}</h1><p>Read <a href="https://${host}/more?from=home">more</a>.`;
/** What a search answers. */
export const writeResults = (word: string) => ({
	results: [{ title: word, url: `https://${word}.example.com/`, snippet: 'A page.' }],
});

/** The agent of a project that remembers its people, and searches and reads the web for them. */
const companion = defineAgent({
	name: 'companion',
	description: 'Remembers people, and looks things up for them.',
	tools: toolbox.webTools({ search: { url: 'https://search.example.com/?q={query}', results: 'results' } }),
	memory: true,
});

/** The shop without its database. All else is as it is. */
const orders: Readonly<Record<string, unknown>> = {
	find_order: { id: 'A-1001', item: 'Darjeeling, 250 g', status: 'sent', price: '18.00 EUR' },
	list_orders: [{ id: 'A-1001', item: 'Darjeeling, 250 g', status: 'sent', price: '18.00 EUR' }],
	refund: { id: 'A-1001', refunded: '18.00 EUR' },
};
const withOrders = (agent: Agent): Agent => ({
	...agent,
	tools: agent.tools.map((one) => (one.name in orders ? { ...one, fn: () => orders[one.name] } : one)),
});

const say = (text: (topic: Topic) => string) => (topic: Topic) => [text(topic)];
/** Calls one after another, and then an answer. */
const call =
	(list: (topic: Topic) => readonly (readonly [name: string, input: object])[]) =>
	(topic: Topic): Script => [...list(topic).map(([name, input]) => callTool(name, input)), `About ${topic.word}.`];

const own: Readonly<Record<string, Kind>> = {
	'the time': {
		agent: assistant,
		texts: say(() => 'What time is it in Tokyo?'),
		script: call(() => [['get_time', { timeZone: 'Asia/Tokyo' }]]),
	},
	'a sum': {
		agent: assistant,
		texts: say(({ n }) => `What is ${n} times 25?`),
		script: call(({ n }) => [['calculate', { expression: `${n} * 25` }]]),
	},
	'a value of JSON': {
		agent: assistant,
		texts: say(({ word }) => `What is the name in {"name":"${word}"}?`),
		script: call(({ word }) => [['query_json', { json: `{"name":"${word}"}`, query: '$.name' }]]),
	},
	'a skill': {
		agent: assistant,
		texts: say(({ word }) => `A customer is angry about ${word}. What do I reply?`),
		script: call(() => [['read_skill', { name: 'customer-tone' }]]),
	},
	'an earlier message': {
		agent: assistant,
		texts: ({ word }) => [`I like ${word}.`, 'What did I say that I like?'],
		script: ({ word }) => ['Fine.', callTool('search_conversation', { query: 'like' }), word],
	},
	'a plan that is applied': {
		agent: coder,
		texts: say(({ word }) => `Make a page about ${word}.`),
		script: ({ word }) => [
			callTool('plan_changes', {
				summary: 'A page.',
				edits: [{ path: `${word}.html`, newText: `<p>${word}` }],
			}),
			({ messages }) => callTool('apply_plan', { planId: /plan-\w+/.exec(JSON.stringify(messages))?.[0] }),
			'Made.',
		],
	},
	'a list of tasks': {
		agent: coder,
		texts: say(({ word }) => `Clean up the notes about ${word}.`),
		script: call(({ word }) => [
			['create_task_list', { title: word, tasks: ['Look', 'Clean'] }],
			['read_file', { path: 'notes.md' }],
			['resolve_task', { listId: 'list-1', taskId: 'task-1', outcome: 'done' }],
		]),
		options: { files: { 'notes.md': '# Notes\n' } },
	},
	'a draft with a skill': {
		agent: support,
		texts: say(({ word }) => `Draft a reply: the parcel with ${word} is late.`),
		script: call(() => [['read_skill', { name: 'customer-tone' }]]),
	},
	'a refund by hand': {
		agent: support,
		texts: say(({ order }) => `Please refund order ${order}, amount 25 euros.`),
		script: call(({ order }) => [['issue_refund', { orderId: order, amount: 25 }]]),
	},
	'a label': {
		agent: triage,
		texts: say(({ n, word }) => `Please label issue ${n}, title "Typo in ${word}".`),
		script: call(({ n, word }) => [['label_issue', { issue: n, title: `Typo in ${word}` }]]),
	},
	'a text that is published': {
		agent: writer,
		texts: say(({ word }) => `Please publish this: title ${word}, text "Two minutes are enough."`),
		script: call(({ word }) => [['publish', { title: word, text: 'Two minutes are enough.' }]]),
	},
	'a commission': {
		agent: editor,
		texts: say(({ word }) => `Commission a text about ${word}.`),
		script: call(({ word }) => [['commission', { task: `Write about ${word}.` }]]),
		options: { children: [{ agent: writer, script: ['A text.'] }] },
	},
};

const web: Readonly<Record<string, Kind>> = {
	'a page': {
		agent: researcher,
		texts: say(({ page }) => `What does ${page} say?`),
		script: call(({ page }) => [['web_fetch', { url: page }]]),
	},
	'a report about two pages': {
		agent: researcher,
		texts: say(({ page, other }) => `Read ${page} and ${other}, and write report.md about them.`),
		script: call(({ page, other, word }) => [
			['web_fetch', { url: page }],
			['web_fetch', { url: other }],
			['write_file', { path: 'report.md', text: `# ${word}` }],
		]),
	},
	'a link of a page': {
		agent: researcher,
		texts: say(({ page }) => `Read ${page} and what it links to.`),
		script: call(({ page, other }) => [
			['web_fetch', { url: page }],
			['web_fetch', { url: other }],
		]),
	},
	'a correction in a file': {
		agent: researcher,
		texts: say(({ word }) => `Write ${word} in place of old in notes.md.`),
		script: call(({ word }) => [
			['read_file', { path: 'notes.md' }],
			['edit_file', { path: 'notes.md', oldText: 'old', newText: word }],
		]),
		options: { files: { 'notes.md': 'old\n' } },
	},
	'a fact to remember': {
		agent: companion,
		texts: say(({ word }) => `I like ${word}. Remember it.`),
		script: call(({ word }) => [['remember', { path: 'likes.md', text: `Likes ${word}.` }]]),
	},
	'a page, with what it remembers': {
		agent: companion,
		texts: say(({ page }) => `Is ${page} something for me?`),
		script: call(({ page }) => [
			['recall', { query: 'likes' }],
			['web_fetch', { url: page }],
		]),
	},
	'a search, with what it remembers': {
		agent: companion,
		texts: say(() => 'Find me something to read.'),
		script: call(({ word, page }) => [
			['recall', { query: 'likes' }],
			['web_search', { query: word }],
			['web_fetch', { url: page }],
		]),
	},
	'a search that is made again, with what it remembers': {
		agent: companion,
		texts: say(() => 'Find me something good to read.'),
		script: call(({ word }) => [
			['recall', { query: 'likes' }],
			['web_search', { query: word }],
			['web_search', { query: `${word} books` }],
		]),
	},
};

const shop: Readonly<Record<string, Kind>> = {
	'an order': {
		agent: withOrders(shopSupport),
		texts: say(({ order }) => `Where is my order ${order}?`),
		script: call(({ order }) => [['find_order', { id: order }]]),
	},
	'all orders, and one of them': {
		agent: withOrders(shopSupport),
		texts: say(() => 'Please list what I bought.'),
		script: call(({ order }) => [
			['list_orders', {}],
			['find_order', { id: order }],
		]),
	},
	'a refund of the shop': {
		agent: withOrders(shopSupport),
		texts: say(({ order }) => `Please refund order ${order}, amount 18 euros.`),
		script: call(({ order }) => [
			['find_order', { id: order }],
			['refund', { id: order, amount: 18 }],
		]),
	},
	'a complaint': {
		agent: withOrders(shopSupport),
		texts: say(({ order }) => `The tea of ${order} came open, and you knew it.`),
		script: call(({ order }) => [
			['find_order', { id: order }],
			['research_complaint', { task: `The tea of ${order} came open.` }],
		]),
		options: {
			children: [{ agent: withOrders(shopResearcher), script: [callTool('list_orders', {}), 'Dear Ada'] }],
		},
	},
	'a draft of an answer': {
		agent: withOrders(shopResearcher),
		texts: say(({ order }) => `The tea of ${order} came open.`),
		script: call(({ order }) => [
			['list_orders', {}],
			['find_order', { id: order }],
		]),
	},
};

export const kinds: Readonly<Record<string, Kind>> = { ...own, ...web, ...shop };
