import { findTargetHandler } from 'hono/utils/handler';
import type { Operation } from '../../wire/operation.ts';

const operations = new WeakMap<object, Operation>();

/** Says which operation a handler serves. */
export function describeHandler(handler: object, operation: Operation): void {
	operations.set(handler, operation);
}

/** Returns the operation of the handler of a route, also of one that is mounted under a path. */
export function findOperation(handler: Parameters<typeof findTargetHandler>[0]): Operation | undefined {
	return operations.get(findTargetHandler(handler));
}
