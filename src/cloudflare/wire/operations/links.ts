import { linkBody } from '../link.ts';
import { operation } from '../operation.ts';

export const createLinks = operation({
	method: 'post',
	path: '/v1/sessions/:id/links',
	access: 'manageSession',
	json: linkBody,
});

export const showDecision = operation({
	method: 'get',
	path: '/v1/decisions/:link',
	access: 'anybody',
	ignoresQuery: true,
});

export const decide = operation({
	method: 'post',
	path: '/v1/decisions/:link',
	access: 'anybody',
	ignoresQuery: true,
});
