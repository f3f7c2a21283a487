import { keyBody } from '../key.ts';
import { operation } from '../operation.ts';

export const listKeys = operation({
	method: 'get',
	path: '/v1/keys',
	access: 'admin',
});

export const makeKey = operation({
	method: 'post',
	path: '/v1/keys',
	access: 'keys',
	json: keyBody,
});

export const revokeKey = operation({
	method: 'delete',
	path: '/v1/keys/:keyId',
	access: 'keys',
});
