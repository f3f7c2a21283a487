/** The orders of the shop, in D1. Every query names the customer. */
import * as v from 'valibot';

declare module 'runlet/cloudflare' {
	interface Env {
		readonly DB: D1Database;
	}
}

const order = v.object({
	id: v.string(),
	customer: v.string(),
	item: v.string(),
	status: v.string(),
	cents: v.number(),
	refunded_cents: v.number(),
});

export type Order = v.InferOutput<typeof order>;

const columns = 'id, customer, item, status, cents, refunded_cents';

/** Finds an order of a customer. That of another customer is not found. */
export async function findOrder(db: D1Database, customer: string, id: string): Promise<Order | undefined> {
	await seed(db);
	const found = await db
		.prepare(`SELECT ${columns} FROM orders WHERE customer = ? AND id = ?`)
		.bind(customer, id)
		.first();
	return found === null ? undefined : v.parse(order, found);
}

export async function listOrders(db: D1Database, customer: string): Promise<readonly Order[]> {
	await seed(db);
	const found = await db.prepare(`SELECT ${columns} FROM orders WHERE customer = ? ORDER BY id`).bind(customer).all();
	return v.parse(v.array(order), found.results);
}

export interface Refund {
	/** Names the refund. The same one is made once, however often it is tried. */
	readonly id: string;
	readonly customer: string;
	readonly order: string;
	readonly cents: number;
}

/** Refunds an order once. Returns `undefined` where another refund was made, or where the order costs less. */
export async function refundOrder(db: D1Database, refund: Refund): Promise<Order | undefined> {
	await seed(db);
	const changed = await db
		.prepare(
			`UPDATE orders SET refund = ?1, refunded_cents = ?2
			WHERE customer = ?3 AND id = ?4 AND cents >= ?2 AND (refund IS NULL OR refund = ?1) RETURNING ${columns}`,
		)
		.bind(refund.id, refund.cents, refund.customer, refund.order)
		.first();
	return changed === null ? undefined : v.parse(order, changed);
}

/** The orders that a fresh shop has. */
const first = [
	['A-1001', 'ada', 'Darjeeling, 250 g', 'sent', 1_800],
	['A-1002', 'ada', 'A cup with a lid', 'delivered', 1_250],
	['A-1003', 'ada', 'Oolong, 100 g', 'not paid yet', 2_100],
	['B-2001', 'ben', 'Assam, 500 g', 'delivered', 2_400],
] as const;

let isSeeded = false;

/** Makes the table and the first orders. Your shop has them already, by migrations of D1. */
async function seed(db: D1Database): Promise<void> {
	if (isSeeded) return;
	const table = db.prepare(
		`CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL, item TEXT NOT NULL,
		status TEXT NOT NULL, cents INTEGER NOT NULL, refunded_cents INTEGER NOT NULL DEFAULT 0, refund TEXT)`,
	);
	const insert = db.prepare('INSERT OR IGNORE INTO orders (id, customer, item, status, cents) VALUES (?, ?, ?, ?, ?)');
	await db.batch([table, ...first.map((values) => insert.bind(...values))]);
	isSeeded = true;
}
