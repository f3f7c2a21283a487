/**
 * Retrieval: embed the documents, rank them by a question, and let the model answer from the best. Runs offline, with the
 * demo model and its embedding: `npm run example retrieval`. With a key, `MODEL` and `EMBEDDING_MODEL` take real ones.
 */
import { chat, providers } from 'runlet';

const {
	MODEL: model = 'demo',
	EMBEDDING_MODEL: embeddingModel = 'demo',
	OPENAI_API_KEY: apiKey,
	OPENAI_BASE_URL: baseURL,
} = process.env;
const registry = [providers.demo(), providers.openai({ apiKey, baseURL })];

const documents = [
	'Refunds: a customer may return an unused order within 30 days and gets the money back in five working days.',
	'Shipping: parcels to Europe take three days, to the rest of the world ten. Express is one day.',
	'Warranty: we repair or replace a broken device for two years, without asking why it broke.',
	'Invoices: every invoice is in your account under Orders; for a new address write to us before the 20th.',
];
const question = process.argv.slice(2).join(' ') || 'How long does shipping to Europe take?';

const vectors = await chat.embed({ model: embeddingModel, providers: registry }, [question, ...documents]);
const [asked = [], ...known] = vectors;
const ranked = documents
	.map((text, index) => ({ text, score: similarity(asked, known[index] ?? []) }))
	.sort((a, b) => b.score - a.score);
for (const { text, score } of ranked) console.log(score.toFixed(3), text);

const answer = await chat.runLoop(
	{
		model,
		providers: registry,
		system: `Answer from these documents only:\n\n${ranked
			.slice(0, 2)
			.map(({ text }) => text)
			.join('\n\n')}`,
	},
	question,
);
console.log(`\n${answer}`);

/** Cosine: 1 for the same direction, 0 for nothing in common. */
function similarity(a: readonly number[], b: readonly number[]): number {
	const dot = (x: readonly number[], y: readonly number[]) =>
		x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
	return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}
