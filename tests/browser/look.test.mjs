export const lookCases = {};
