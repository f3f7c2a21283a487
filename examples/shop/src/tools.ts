/** What the agents of the shop can do. Each tool works for the person of the session, whom the model cannot choose. */
import { type ToolContext, tool } from 'runlet';
import * as v from 'valibot';
import { findOrder, listOrders, type Order, refundOrder } from './orders.ts';

const orderId = v.pipe(
	v.string(),
	v.regex(/^[A-Z]-\d{1,9}$/),
	v.description('The number of the order, such as A-1001'),
);

export const findOrderTool = tool.define({
	name: 'find_order',
	description: 'Find an order of the customer, by its number.',
	inputSchema: v.object({ id: orderId }),
	passInput: true,
	retry: 'safe',
	fn: async ({ id }, context) => show(await getOrder(context, id)),
});

export const listOrdersTool = tool.define({
	name: 'list_orders',
	description: 'List all orders of the customer.',
	inputSchema: v.object({}),
	passInput: true,
	retry: 'safe',
	fn: async (_, context) => (await listOrders(context.env.DB, getCustomer(context))).map(show),
});

export const refundTool = tool.define({
	name: 'refund',
	description:
		'Refund an order of the customer. Needs its number and the amount in euros. A colleague has to allow it.',
	inputSchema: v.object({
		id: orderId,
		amount: v.pipe(v.number(), v.minValue(0.01), v.maxValue(10_000), v.description('Euros')),
	}),
	passInput: true,
	needsApproval: true,
	// The refund has the name of the call, so it is made once.
	retry: 'safe',
	fn: async ({ id, amount }, context) => {
		const order = await getOrder(context, id);
		const cents = Math.round(amount * 100);
		const { customer } = order;
		const refunded = await refundOrder(context.env.DB, { id: context.idempotencyKey, customer, order: id, cents });
		if (refunded !== undefined) return show(refunded);
		throw new Error(
			order.refunded_cents > 0 ? `${id} was refunded already.` : `${id} has cost ${toEuros(order.cents)} only.`,
		);
	},
});

async function getOrder(context: ToolContext, id: string): Promise<Order> {
	const order = await findOrder(context.env.DB, getCustomer(context), id);
	// That of another customer is answered the same, so nobody learns which numbers there are.
	if (order === undefined) throw new Error(`The customer has no order ${id}.`);
	return order;
}

/** Returns the customer that the session belongs to. A session of the shop itself, such as a digest, has none. */
function getCustomer({ user }: Pick<ToolContext, 'user'>): string {
	if (user === undefined) throw new Error('This conversation belongs to no customer.');
	return user;
}

/** What the model reads of an order. */
function show({ id, item, status, cents, refunded_cents: refunded }: Order) {
	return { id, item, status, price: toEuros(cents), ...(refunded > 0 && { refunded: toEuros(refunded) }) };
}

function toEuros(cents: number): string {
	return `${(cents / 100).toFixed(2)} EUR`;
}
