export const speedCases = {};
